//! Image-text models as two towers, whatever computes them: one maps pictures and one maps texts to vectors of one space.

use crate::conv::Numeric;
use crate::error::Result;
use crate::tokens::Encoding;

/// The tower of pictures. Several threads can call its methods at the same time.
pub trait ImageTower: Send + Sync {
    /// A vector of unit length for each picture: (colour, row, column), normalised, of the size that the model takes.
    ///
    /// # Errors
    /// A picture has another size, or the computation fails.
    fn embed(&self, images: &[&[f32]]) -> Result<Vec<Vec<f32>>>;

    /// Whether any product is computed in int8.
    fn numeric(&self) -> Numeric {
        Numeric::Float
    }

    /// The least cosine between vectors in int8 and vectors in floats, over a few pictures; None in floats.
    fn agreement(&self) -> Option<f32> {
        None
    }
}

/// The tower of texts. Several threads can call its methods at the same time.
pub trait TextTower: Send + Sync {
    /// A vector of unit length for each text.
    ///
    /// # Errors
    /// The model does not have one of the tokens, or the computation fails.
    fn embed(&self, texts: &[Encoding]) -> Result<Vec<Vec<f32>>>;

    /// Whether any product is computed in int8.
    fn numeric(&self) -> Numeric {
        Numeric::Float
    }

    /// The least cosine between vectors in int8 and vectors in floats, over a few texts; None in floats.
    fn agreement(&self) -> Option<f32> {
        None
    }
}
