//! Threads on which calls of a [`Desk`](crate::Desk) run, with a bounded queue in front.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use tokio::sync::oneshot;

use crate::desk::Call;
use crate::refusal::Refusal;

/// Stack of a thread in bytes. Models need more than the 2 MiB that threads have by default.
const STACK: usize = 8 << 20;

/// Threads and their queue. They end when the pool is dropped and their calls have returned.
pub(crate) struct Pool(Arc<PoolShared>);

struct PoolShared {
    state: Mutex<PoolState>,
    /// Signals that a task waits, or that the pool is closed.
    wake: Condvar,
    /// The number of tasks that can wait.
    most_waiting: usize,
}

#[derive(Default)]
struct PoolState {
    waiting: VecDeque<QueuedCall>,
    closed: bool,
    /// The number of threads that have not ended.
    threads: usize,
}

struct QueuedCall {
    call: Call,
    work: Box<dyn FnOnce(&Call) + Send>,
}

impl Pool {
    /// # Errors
    /// The system starts no more threads.
    pub(crate) fn new(name: &str, threads: usize, most_waiting: usize) -> io::Result<Pool> {
        let shared = Arc::new(PoolShared {
            state: Mutex::default(),
            wake: Condvar::new(),
            most_waiting,
        });
        // the pool is made first: if a thread cannot be started, it is dropped, and the others end
        let pool = Pool(shared);
        for number in 1..=threads.max(1) {
            let shared = Arc::clone(&pool.0);
            let thread = Builder::new().name(format!("{name} {number}"));
            shared.lock().threads += 1;
            let of_thread = Arc::clone(&shared);
            let started = thread.stack_size(STACK).spawn(move || {
                while let Some(task) = of_thread.next() {
                    (task.work)(&task.call);
                }
                of_thread.lock().threads -= 1;
            });
            if let Err(error) = started {
                shared.lock().threads -= 1;
                return Err(error);
            }
        }
        Ok(pool)
    }

    /// Runs `work` on a thread when one is free, unless the call has been stopped by then. A panic of `work` becomes [`Refusal::Panicked`]. If nothing is
    /// received, the work was not begun.
    ///
    /// # Errors
    /// The queue is full.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        call: Call,
        work: impl FnOnce(&Call) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T, Refusal>>, Refusal> {
        let (sender, receiver) = oneshot::channel();
        let work = move |call: &Call| {
            // nobody receives it if the client has left
            let _ = sender.send(guarded(|| work(call)));
        };
        let mut state = self.0.lock();
        if state.closed {
            return Err(Refusal::Busy);
        }
        if state.waiting.len() >= self.0.most_waiting {
            state.waiting.retain(|task| !task.call.is_stopped());
        }
        if state.waiting.len() >= self.0.most_waiting {
            return Err(Refusal::Busy);
        }
        let work = Box::new(work);
        state.waiting.push_back(QueuedCall { call, work });
        drop(state);
        self.0.wake.notify_one();
        Ok(receiver)
    }

    /// The number of calls that wait for a thread.
    pub(crate) fn waiting(&self) -> usize {
        let state = self.0.lock();
        let wanted = state.waiting.iter().filter(|task| !task.call.is_stopped());
        wanted.count()
    }

    /// Lets the threads end after their calls. What waits is dropped.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.waiting.clear();
        drop(state);
        self.0.wake.notify_all();
    }

    /// The number of threads that have not ended.
    pub(crate) fn threads(&self) -> usize {
        self.0.lock().threads
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

impl PoolShared {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        // no code panics while it has the lock
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task that is still wanted; `None` when the pool is closed.
    fn next(&self) -> Option<QueuedCall> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            match state.waiting.pop_front() {
                Some(task) if !task.call.is_stopped() => return Some(task),
                Some(_) => {}
                None => {
                    let woken = self.wake.wait(state);
                    state = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// Does the work. A panic becomes [`Refusal::Panicked`].
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    // what a desk shares survives a panic, as its documentation demands
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|panic| Err(Refusal::Panicked(message(&*panic))))
}

/// What a panic says.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::desk::StopOnDrop;

    fn call() -> Call {
        Call::until(Instant::now() + Duration::from_secs(60))
    }

    /// A pool of one thread that is held until the sender is dropped.
    fn held(most_waiting: usize) -> (Pool, mpsc::Sender<()>) {
        let pool = Pool::new("test", 1, most_waiting).unwrap();
        let (hold, held) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let work = move |_: &Call| {
            begun.send(()).unwrap();
            let _ = held.recv();
            Ok(())
        };
        pool.run(call(), work).unwrap();
        begins.recv().unwrap();
        (pool, hold)
    }

    #[test]
    fn a_full_queue_refuses_and_forgets_calls_that_nobody_waits_for() {
        let (pool, hold) = held(1);
        let waits = call();
        let receiver = pool.run(waits.clone(), |_| Ok(1)).unwrap();
        assert_eq!(pool.run(call(), |_| Ok(2)).unwrap_err(), Refusal::Busy);
        drop(StopOnDrop(waits));
        assert_eq!(pool.waiting(), 0);
        let second = pool.run(call(), |_| Ok(3)).unwrap();
        drop(hold);
        assert_eq!(second.blocking_recv().unwrap(), Ok(3));
        assert!(receiver.blocking_recv().is_err(), "it was begun");
    }

    #[test]
    fn a_panic_is_an_answer_and_the_thread_goes_on() {
        let pool = Pool::new("test", 1, 8).unwrap();
        let panics = |_: &Call| -> Result<(), Refusal> { panic!("out of {}", "ink") };
        let panicked = pool.run(call(), panics).unwrap().blocking_recv();
        let expected = Refusal::Panicked("out of ink".to_owned());
        assert_eq!(panicked.unwrap(), Err(expected));
        let next = pool.run(call(), |_| Ok(4)).unwrap();
        assert_eq!(next.blocking_recv().unwrap(), Ok(4));
    }

    #[test]
    fn the_threads_end_with_the_pool() {
        let (pool, hold) = held(8);
        let waits = pool.run(call(), |_| Ok(5)).unwrap();
        pool.close();
        assert!(waits.blocking_recv().is_err(), "it was begun");
        assert_eq!(pool.run(call(), |_| Ok(6)).unwrap_err(), Refusal::Busy);
        drop(hold);
        while pool.threads() > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
