//! Clusters of pictures that look alike, and their weights.

mod components;

use anyhow::Result;
use riposte_eval::{DocId, Explanation};
use serde::Deserialize;

use crate::evidence::clip::{ImageTextVectors, Slot};
use crate::evidence::picture::{PictureChannel, PictureStatistics};
use crate::evidence::store::Store;
use crate::index::images::{Field, ImageIndex};
use crate::systems::k_means::k_means;
use components::principal_components;

/// The seed of the first centroids.
const SEED: u64 = 1;

/// Clusters of all pictures by k-means, and their weights: `lowest` for a cluster in which no picture has text, `highest` for one in which all have
/// text, and in between in proportion to the share of pictures with text. Images without a picture have the weight 0.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PictureClusters {
    /// The number of clusters, at least 1.
    pub count: usize,
    /// The number of principal components of the pictures' vectors that are compared, at least 1.
    pub dimensions: usize,
    pub lowest: f64,
    pub highest: f64,
}

/// The weights of the clusters that the images belong to.
pub(crate) struct ClusterWeights {
    /// For each image the number of its cluster; `None` without a picture.
    member_of: Vec<Option<usize>>,
    clusters: Vec<PictureCluster>,
}

#[derive(Clone, Copy, Default)]
struct PictureCluster {
    pictures: usize,
    with_text: usize,
    weight: f64,
}

impl ClusterWeights {
    /// Divides the pictures of all images into clusters by principal components: of their CLIP vectors if the evidence has some, otherwise of their
    /// statistics.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(store: &Store, index: &ImageIndex, recipe: PictureClusters) -> Result<Self> {
        let PictureClusters {
            count, dimensions, ..
        } = recipe;
        let mut vectors = clip_vectors(store, index.ids())?;
        if vectors.images.is_empty() {
            vectors = statistics(store, index.ids())?;
        }
        let components = principal_components(&vectors.numbers, vectors.dimension, dimensions);
        let found = k_means(&components, dimensions.min(vectors.dimension), count, SEED);
        let mut member_of = vec![None; index.ids().len()];
        let mut clusters = vec![PictureCluster::default(); count];
        let lengths = index.lengths(Field::Ocr);
        for (at, cluster) in vectors.images.iter().zip(found.member_of) {
            member_of[*at] = Some(cluster);
            clusters[cluster].pictures += 1;
            clusters[cluster].with_text += usize::from(lengths[*at] > 0);
        }
        for cluster in &mut clusters {
            let share = cluster.with_text as f64 / cluster.pictures.max(1) as f64;
            cluster.weight = recipe.lowest + (recipe.highest - recipe.lowest) * share;
        }
        Ok(ClusterWeights {
            member_of,
            clusters,
        })
    }

    /// The weight of the image with this number.
    pub fn weight(&self, at: usize) -> f64 {
        self.cluster(at).map_or(0.0, |(_, cluster)| cluster.weight)
    }

    fn cluster(&self, at: usize) -> Option<(usize, PictureCluster)> {
        let number = self.member_of.get(at).copied().flatten()?;
        Some((number, *self.clusters.get(number)?))
    }

    /// The relevance of the image with this number, multiplied by its weight.
    pub fn explain(&self, at: usize, relevance: Explanation) -> Explanation {
        let how = match self.cluster(at) {
            Some((number, cluster)) => format!(
                "× {:.4}, the weight of cluster {}: {} of its {} pictures have text",
                cluster.weight,
                number + 1,
                cluster.with_text,
                cluster.pictures
            ),
            None => "× 0: there is no picture".to_owned(),
        };
        let value = relevance.value() * self.weight(at);
        relevance.revised(value, how)
    }
}

/// Vectors of pictures, all of the same length.
#[derive(Default)]
struct PictureVectors {
    /// The numbers of their images.
    images: Vec<usize>,
    dimension: usize,
    /// The vectors one after another: `dimension` numbers for each of `images`.
    numbers: Vec<f32>,
}

impl PictureVectors {
    /// Adds a vector, unless its length differs from that of the first one.
    fn push(&mut self, image: usize, vector: &[f32]) {
        if self.images.is_empty() {
            self.dimension = vector.len();
        }
        if vector.len() == self.dimension {
            self.images.push(image);
            self.numbers.extend_from_slice(vector);
        }
    }
}

fn clip_vectors(store: &Store, ids: &[DocId]) -> Result<PictureVectors> {
    let mut vectors = PictureVectors::default();
    store.each(ids, &[&ImageTextVectors(Slot::First)], |at, evidence| {
        let vector = evidence.image_vector(Slot::First);
        vector
            .into_iter()
            .for_each(|vector| vectors.push(at, vector));
    })?;
    Ok(vectors)
}

/// The statistics of the pictures, each with mean 0 and variance 1 over all pictures.
fn statistics(store: &Store, ids: &[DocId]) -> Result<PictureVectors> {
    let mut vectors = PictureVectors::default();
    store.each(ids, &[&PictureChannel], |at, evidence| {
        if let Some(picture) = evidence.get() {
            vectors.push(at, &numbers_of(picture));
        }
    })?;
    let count = vectors.images.len() as f64;
    for column in 0..vectors.dimension {
        let dimension = vectors.dimension;
        let values = || vectors.numbers.iter().skip(column).step_by(dimension);
        let mean = values().map(|x| f64::from(*x)).sum::<f64>() / count;
        let squares: f64 = values().map(|x| (f64::from(*x) - mean).powi(2)).sum();
        let deviation = (squares / count).sqrt();
        for value in vectors.numbers.iter_mut().skip(column).step_by(dimension) {
            *value = if deviation > 0.0 {
                ((f64::from(*value) - mean) / deviation) as f32
            } else {
                0.0
            };
        }
    }
    Ok(vectors)
}

/// The statistics that describe what a picture looks like. Its size is left out, and so are numbers that follow from others.
fn numbers_of(picture: &PictureStatistics) -> [f32; 16] {
    let [red, green, blue] = picture.average.map(f32::from);
    [
        picture.text_fraction,
        picture.brightness,
        picture.contrast,
        picture.saturation,
        picture.colourfulness,
        picture.red,
        picture.green,
        picture.blue,
        picture.bright,
        picture.dark,
        red,
        green,
        blue,
        // numbers of colours range over three powers of ten
        (picture.colours as f32).sqrt(),
        picture.edges,
        picture.flat,
    ]
}
