//! Answers a question from a collection: `ask COLLECTION QUESTION`. Says of each argument how sure it is of its side.

use std::ops::ControlFlow;

use riposte::{Collection, Error, StanceDetector};

fn main() -> Result<(), Error> {
    let mut words = std::env::args().skip(1);
    let input = words.next().unwrap_or_else(|| "sample".to_owned());
    let question = words.next();
    let question = question.unwrap_or_else(|| "Should the voting age be lowered?".to_owned());

    let answer = Collection::open(input)?.ask(&question, 3, |_| ControlFlow::Continue(()))?;
    println!("{answer}");
    let detector = StanceDetector::open(None, |_| ())?;
    for argument in answer
        .sides
        .iter()
        .flat_map(|side| side.arguments.iter().flatten())
    {
        let stances = detector.towards(&question, &argument.text)?;
        println!(
            "{} pro {:.2} con {:.2}",
            argument.id, stances.pro, stances.con
        );
    }
    Ok(())
}
