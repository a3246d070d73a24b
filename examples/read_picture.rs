//! Prints the text in pictures, and where each line is: `read_picture FILE ...`. It needs an OCR model: `riposte models fetch ppocr-v4`.

use riposte::{Error, PictureReader};

fn main() -> Result<(), Error> {
    let reader = PictureReader::open(None)?;
    for file in std::env::args().skip(1) {
        let read = reader.read(&file)?;
        println!("{file}\n{}", read.text());
        for line in &read.lines {
            let [(x, y), ..] = line.corners;
            println!("  {x:.0},{y:.0} {:.2} {}", line.confidence, line.text);
        }
    }
    Ok(())
}
