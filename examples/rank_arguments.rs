//! Ranks the arguments of a collection for your own question: `rank_arguments COLLECTION QUESTION`.

use std::ops::ControlFlow;

use riposte::{Approach, Collection, Task, TextTask, Topic};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let input = words.next().unwrap_or_else(|| "sample".to_owned());
    let question = words.next();
    let question = question.unwrap_or_else(|| "Should the voting age be lowered?".to_owned());

    let collection = Collection::open(input)?.for_task(Task::Texts(TextTask::Controversial));
    let approach = Approach::named(collection.task(), "riposte")?;
    let topics = vec![Topic::new("1", &question)?];
    let request = collection.request(approach).topics(topics).explained();
    let ranking = request.rank(|_| ControlFlow::Continue(()))?;
    for found in ranking.documents().take(5) {
        println!("{} {} {:.3}", found.rank, found.document, found.score);
    }
    print!("{}", ranking.to_run()?);
    Ok(())
}
