//! Ranks the images of a collection for and against each topic, and writes the run: `rank_images COLLECTION OUTPUT`.

use std::ops::ControlFlow;

use riposte::{Approach, Collection, Error, Event, Task};

fn main() -> Result<(), Error> {
    let mut words = std::env::args().skip(1);
    let input = words.next().unwrap_or_else(|| "sample".to_owned());
    let output = words.next().unwrap_or_else(|| "out/example".to_owned());

    let collection = Collection::open(input)?.for_task(Task::Images);
    let approach = Approach::named(collection.task(), "riposte")?;
    let ranking = collection.request(approach).rank(|event| {
        match event {
            Event::Note(note) => eprintln!("{note}"),
            Event::Fault(fault) => eprintln!("{fault}"),
            _ => {}
        }
        ControlFlow::Continue(()) // Break(()) would stop; the next call goes on from there
    })?;
    for found in ranking.documents().filter(|found| found.rank == 1) {
        let side = found.side.map_or("", |side| side.word());
        println!(
            "{} {side}: {} {:.3}",
            found.topic, found.document, found.score
        );
        // why is it there?
        if let Some(explanation) = ranking.explanation(&found) {
            println!("{explanation}");
        }
    }
    println!("{}", ranking.write_run(output)?.display());
    Ok(())
}
