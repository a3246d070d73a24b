//! Evaluates a run: `evaluate_run RUN JUDGEMENTS [MEASURE ...]`. Runs of images are judged by the rule of 2022.

use riposte::{Edition, Error, evaluate};

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [run, qrels, measures @ ..] = words.as_slice() else {
        eprintln!("give a run and judgements, and measures such as nDCG@5");
        return Ok(());
    };
    let names: Vec<&str> = measures.iter().map(String::as_str).collect();
    for evaluated in evaluate(run, qrels, Edition::first(), &names, |e| eprintln!("{e:?}"))? {
        println!("{}\t{:.4}", evaluated.measure, evaluated.values.all());
        for (topic, value) in &evaluated.values.topics {
            println!("  {topic}\t{value:.4}");
        }
    }
    Ok(())
}
