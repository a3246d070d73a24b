//! What all requests share: the desk, its threads, and the answers that are kept.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use tokio::sync::Semaphore;

use crate::budget::Budget;
use crate::cache::{AnswerCache, CacheKey, Encoded};
use crate::desk::{Call, Desk, StopOnDrop};
use crate::limits::MAX_ANSWER_BYTES;
use crate::log::LogRecord;
use crate::metrics::{Gauges, Metrics};
use crate::pool::{Pool, guarded};
use crate::process;
use crate::questions::CachedRequest;
use crate::refusal::Refusal;
use crate::settings::ServerSettings;
use crate::shared::{SharedCalls, Waits};

pub(crate) struct Server {
    pub(crate) settings: ServerSettings,
    /// A permit for each connection.
    pub(crate) places: Arc<Semaphore>,
    models: Pool,
    quick: Pool,
    source: Arc<AnswerSource>,
    shared: SharedCalls,
    metrics: Metrics,
    begun: Instant,
    /// The last second since then, from 1, in which a connection was refused.
    refused_in: AtomicU64,
}

/// Where answers come from. Calls share it, but not the threads on which they run.
struct AnswerSource {
    desk: Arc<dyn Desk>,
    cache: AnswerCache,
    budget: Budget,
}

/// Where a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// By words alone, from memory, or from one file: slow calls must not delay it.
    Quick,
    /// With models.
    Models,
}

impl Server {
    /// # Errors
    /// The threads cannot be started.
    pub(crate) fn new(desk: Arc<dyn Desk>, settings: ServerSettings) -> io::Result<Server> {
        let models = Pool::new("serve models", settings.threads, settings.waiting)?;
        let quick = Pool::new("serve quick", settings.quick_threads, settings.waiting)?;
        Ok(Server {
            places: Arc::new(Semaphore::new(settings.connections)),
            source: Arc::new(AnswerSource {
                desk,
                cache: AnswerCache::new(settings.cache_bytes),
                budget: Budget::new(settings.answer_bytes),
            }),
            shared: SharedCalls::default(),
            metrics: Metrics::default(),
            begun: Instant::now(),
            refused_in: AtomicU64::new(0),
            models,
            quick,
            settings,
        })
    }

    /// Calls the desk on a thread of the lane. If this future is dropped, the call is stopped.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&dyn Desk, &Call) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let deadline = self.deadline(lane);
        let source = Arc::clone(&self.source);
        let (_, waits) = self.begin(lane, deadline, move |call| work(&*source.desk, call))?;
        in_time(deadline, waits).await
    }

    /// As [`Server::call`], unless the answer was given before from the same version of the collection, or the same is being answered. `route` tells what is
    /// asked by the request.
    pub(crate) async fn kept<R: CachedRequest>(
        &self,
        lane: Lane,
        route: &str,
        request: R,
        work: impl FnOnce(&(dyn Desk + 'static), &R, &Call) -> Result<Encoded, Refusal> + Send + 'static,
    ) -> Result<Encoded, Refusal> {
        let version = guarded(|| Ok(self.source.desk.version(request.collection())))?;
        let text = serde_json::to_string(&(route, &request)).map_err(failed)?;
        let key = version.map(|version| CacheKey {
            version,
            request: text.into(),
        });
        if let Some(kept) = key.as_ref().and_then(|key| self.source.cache.get(key)) {
            return Ok(kept);
        }
        let deadline = self.deadline(lane);
        let source = Arc::clone(&self.source);
        let of_call = key.clone();
        let begin = || {
            let work = move |call: &Call| {
                let answer = work(&*source.desk, &request, call)?;
                source.keep(of_call, request.collection(), answer)
            };
            self.begin(lane, deadline, work)
        };
        match key {
            Some(key) => in_time(deadline, self.shared.join(key, deadline, begin)?).await,
            None => in_time(deadline, begin()?.1).await,
        }
    }

    /// When a client that begins to wait now is told that there was no answer in time.
    fn deadline(&self, lane: Lane) -> Instant {
        Instant::now()
            + match lane {
                Lane::Quick => self.settings.quick_deadline,
                Lane::Models => self.settings.deadline,
            }
    }

    /// Begins a call on a thread of the lane. The future waits for its answer, however long it takes, and stops the call if it is dropped.
    fn begin<T: Send + 'static>(
        &self,
        lane: Lane,
        deadline: Instant,
        work: impl FnOnce(&Call) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<(Call, Waits<T>), Refusal> {
        let pool = match lane {
            Lane::Quick => &self.quick,
            Lane::Models => &self.models,
        };
        let call = Call::until(deadline);
        let stops = StopOnDrop(call.clone());
        let answer = pool.run(call.clone(), work)?;
        let waits = Box::pin(async move {
            let _stops = stops;
            // it does not begin if the pool is closed, or if the deadline has passed, which whoever waits sees, too
            answer.await.unwrap_or(Err(Refusal::Busy))
        });
        Ok((call, waits))
    }

    /// Counts a request that is over, and passes its record on.
    pub(crate) fn record(&self, record: &LogRecord<'_>) {
        self.metrics
            .count(record.route, record.status, record.elapsed);
        self.log(record);
    }

    /// Counts a connection that was refused because there are too many. At most one a second gets a record, so that a client that opens thousands
    /// cannot fill the log.
    pub(crate) fn record_refused_connection(&self) {
        let record = LogRecord {
            time: SystemTime::now(),
            method: "-",
            route: "-",
            status: 503,
            elapsed: Duration::ZERO,
            question: None,
            reason: Some("there are too many connections"),
        };
        self.metrics
            .count(record.route, record.status, record.elapsed);
        let second = self.begun.elapsed().as_secs() + 1;
        if self.refused_in.swap(second, Ordering::Relaxed) != second {
            self.log(&record);
        }
    }

    /// A log that panics, for example because nobody reads its pipe any more, harms no request.
    fn log(&self, record: &LogRecord<'_>) {
        let _ = guarded(|| {
            (self.settings.log)(record);
            Ok(())
        });
    }

    pub(crate) fn metrics(&self) -> Result<String, Refusal> {
        let free = self.places.available_permits();
        let gauges = Gauges {
            waiting: self.models.waiting(),
            waiting_quick: self.quick.waiting(),
            connections: self.settings.connections.saturating_sub(free),
            cache_bytes: self.source.cache.bytes(),
            answer_bytes: self.source.budget.bytes(),
            joined: self.shared.joined(),
            resident_bytes: process::resident_bytes(),
            open_files: process::open_files(),
        };
        self.metrics.text(&gauges).map_err(failed)
    }

    /// Begins no more calls, and drops those that wait.
    pub(crate) fn close(&self) {
        self.models.close();
        self.quick.close();
    }

    /// The number of threads that have not ended.
    pub(crate) fn threads(&self) -> usize {
        self.models.threads() + self.quick.threads()
    }
}

impl AnswerSource {
    /// Keeps an answer, to be sent and to be given again.
    ///
    /// # Errors
    /// There is no room for it.
    fn keep(
        &self,
        key: Option<CacheKey>,
        collection: Option<&str>,
        answer: Encoded,
    ) -> Result<Encoded, Refusal> {
        let answer = self.budget.hold(answer)?;
        // an answer that was computed while the collection changed can be of either version
        if let Some(key) = key
            && self.desk.version(collection) == Some(key.version)
        {
            self.cache.put(key, answer.clone());
        }
        Ok(answer)
    }
}

/// The answer, if it comes before the deadline.
async fn in_time<T>(
    deadline: Instant,
    answer: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    match tokio::time::timeout_at(deadline.into(), answer).await {
        Err(_) => Err(Refusal::TimedOut),
        // the thread saw the deadline first, or did not begin because of it
        Ok(Err(Refusal::Busy | Refusal::Stopped)) if Instant::now() >= deadline => {
            Err(Refusal::TimedOut)
        }
        Ok(answer) => answer,
    }
}

pub(crate) fn failed(error: impl ToString) -> Refusal {
    Refusal::Failed(error.to_string())
}

/// An answer as JSON.
///
/// # Errors
/// It is larger than a client should ask for.
pub(crate) fn json(answer: &impl Serialize) -> Result<Encoded, Refusal> {
    let mut bytes = BoundedBuffer(Vec::new());
    match serde_json::to_writer(&mut bytes, answer) {
        Ok(()) => encoded("application/json", bytes.0),
        Err(error) if error.is_io() => Err(too_large()),
        Err(error) => Err(failed(error)),
    }
}

/// # Errors
/// The answer is larger than a client should ask for.
pub(crate) fn encoded(content_type: &'static str, mut bytes: Vec<u8>) -> Result<Encoded, Refusal> {
    if bytes.len() > MAX_ANSWER_BYTES {
        return Err(too_large());
    }
    // the cache counts bytes, not what a vector has in reserve
    bytes.shrink_to_fit();
    Ok(Encoded {
        content_type,
        bytes: bytes.into(),
    })
}

fn too_large() -> Refusal {
    let mebibytes = MAX_ANSWER_BYTES >> 20;
    Refusal::Unanswerable(format!(
        "the answer has more than {mebibytes} MiB; ask for less"
    ))
}

/// A buffer that refuses to grow beyond [`MAX_ANSWER_BYTES`].
struct BoundedBuffer(Vec<u8>);

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_ANSWER_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
