//! The trait [`Desk`], which answers requests, and [`Call`], a request that is being answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::answers::{
    Answer, CollectionInfo, DocumentAnswer, EncodedPicture, Explained, Health, Quality, Reply,
    SearchAnswer, StanceAnswer, WordHit,
};
use crate::questions::{
    Address, Conversation, DebateQuestion, Explain, QualityQuestion, Search, StanceQuestion,
    WordSearch,
};
use crate::refusal::Refusal;

/// Answers requests. Its methods block, and run on threads of the server's own, several at once.
///
/// Requests are checked: texts are not empty and within their bounds, names have no control characters. A name or an id is still any text, so it must be
/// looked up among what is known, and never become part of a path.
///
/// A method that takes long looks at its [`Call`] between two steps, and returns [`Refusal::Stopped`] when it is stopped. A method that panics is answered
/// with status 500; what it has locked should survive that.
pub trait Desk: Send + Sync + 'static {
    /// The version of a collection, or for `None` that of everything that answers can depend on. It grows with each change; answers of an earlier
    /// version are never given again. Returns `None` for an unknown collection, or to disable caching.
    ///
    /// It is asked for each request, also on the thread that reads from the network, so it returns at once. The server asks before and after a call, and
    /// keeps an answer only if the two are equal. So a change must become visible to calls no later than the new version does.
    fn version(&self, collection: Option<&str>) -> Option<u64>;

    /// What can be asked.
    ///
    /// # Errors
    /// The call is stopped or fails. This holds for all methods.
    fn collections(&self, call: &Call) -> Result<Vec<CollectionInfo>, Refusal>;

    /// Whether the server can answer.
    ///
    /// # Errors
    /// As above.
    fn health(&self, call: &Call) -> Result<Health, Refusal>;

    /// The ranking of a question: order and scores are those of a run with this one topic.
    ///
    /// # Errors
    /// There is no such collection or approach, or the question cannot be answered.
    fn search(&self, search: &Search, call: &Call) -> Result<SearchAnswer, Refusal>;

    /// The ranking of a query by its words alone, best first, with each document as it is stored.
    ///
    /// # Errors
    /// There is no such collection.
    fn words(&self, search: &WordSearch, call: &Call) -> Result<Vec<WordHit>, Refusal>;

    /// A document.
    ///
    /// # Errors
    /// There is no such collection or document.
    fn document(&self, address: &Address, call: &Call) -> Result<DocumentAnswer, Refusal>;

    /// A document as it is stored: a JSON object or another text.
    ///
    /// # Errors
    /// There is no such collection or document.
    fn stored(&self, address: &Address, call: &Call) -> Result<String, Refusal>;

    /// Why a document has its score for a question.
    ///
    /// # Errors
    /// There is no such collection, document or approach.
    fn explain(&self, explain: &Explain, call: &Call) -> Result<Explained, Refusal>;

    /// The stances of texts towards a topic or two objects, in the order of the texts.
    ///
    /// # Errors
    /// The topic cannot be read.
    fn stance(&self, question: &StanceQuestion, call: &Call) -> Result<Vec<StanceAnswer>, Refusal>;

    /// How good texts are as arguments on a topic, in the order of the texts.
    ///
    /// # Errors
    /// As above.
    fn quality(&self, question: &QualityQuestion, call: &Call) -> Result<Vec<Quality>, Refusal>;

    /// What speaks for and against the claim of a question, as `riposte ask` has it.
    ///
    /// # Errors
    /// There is no such collection, or the question cannot be answered.
    fn debate(&self, debate: &DebateQuestion, call: &Call) -> Result<Answer, Refusal>;

    /// The report of the same answer: one HTML page that needs no other file, as `riposte ask -o` writes it.
    ///
    /// # Errors
    /// As above.
    fn report(&self, debate: &DebateQuestion, call: &Call) -> Result<String, Refusal>;

    /// The next utterance of a debate, with the arguments that it is made of.
    ///
    /// # Errors
    /// There are no arguments to answer with.
    fn reply(&self, conversation: &Conversation, call: &Call) -> Result<Reply, Refusal>;

    /// A picture, decoded and encoded again: its bytes are the desk's own, not those of a file.
    ///
    /// # Errors
    /// There is no such collection or picture.
    fn picture(&self, address: &Address, call: &Call) -> Result<EncodedPicture, Refusal>;
}

/// A call of a [`Desk`]. It tells whether a client still waits for the answer; several clients with the same request can.
#[derive(Clone, Debug)]
pub struct Call(Arc<Wanted>);

#[derive(Debug)]
struct Wanted {
    stop: AtomicBool,
    /// The deadline of the client that waits longest.
    deadline: Mutex<Instant>,
}

impl Call {
    /// A call that has until `deadline`.
    pub fn until(deadline: Instant) -> Call {
        Call(Arc::new(Wanted {
            stop: AtomicBool::new(false),
            deadline: Mutex::new(deadline),
        }))
    }

    /// The flag that is set when the last client has left or has no more time, or when the server ends.
    pub fn stop(&self) -> &AtomicBool {
        &self.0.stop
    }

    /// When the last client is told that there was no answer in time. It becomes later when another one joins.
    pub fn deadline(&self) -> Instant {
        *self.lock()
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed) || Instant::now() >= self.deadline()
    }

    /// Lets another client, which waits until `deadline`, share this call. Returns `false` if the call has already been stopped.
    pub(crate) fn join(&self, deadline: Instant) -> bool {
        let mut last = self.lock();
        let is_wanted = !self.0.stop.load(Ordering::Relaxed) && Instant::now() < *last;
        if is_wanted {
            *last = deadline.max(*last);
        }
        is_wanted
    }

    fn lock(&self) -> MutexGuard<'_, Instant> {
        self.0
            .deadline
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops a call when it is dropped: with the future that waits for the answer, which goes with the last of its connections.
pub(crate) struct StopOnDrop(pub(crate) Call);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop().store(true, Ordering::Relaxed);
    }
}
