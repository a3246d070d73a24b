//! Evaluates a run: `evaluate_run RUN JUDGEMENTS [MEASURE ...]`.

use riposte::{Edition, Error, evaluate};

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [run, judgements, measures @ ..] = words.as_slice() else {
        eprintln!("give a run and judgements, and measures such as nDCG@5");
        return Ok(());
    };
    let measures: Vec<&str> = measures.iter().map(String::as_str).collect();
    let edition = Edition::first(); // of the image task; its grades are those of 2022
    for evaluated in evaluate(run, judgements, edition, &measures, |event| {
        eprintln!("{event:?}");
    })? {
        println!("{}\t{:.4}", evaluated.measure, evaluated.values.all());
        for (topic, value) in &evaluated.values.topics {
            println!("  {topic}\t{value:.4}");
        }
    }
    Ok(())
}
