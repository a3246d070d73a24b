use std::cmp::Ordering;

use half::f16;
use proptest::prelude::*;
use riposte_nn::normalise;

use super::*;
use crate::index::vector;

/// The result of [`Vectors::nearest`], from a sorted list of all comparisons.
fn all_compared(
    documents: &[Vec<Vec<f32>>],
    query: &[f32],
    k: usize,
    unit: SearchUnit,
) -> Vec<NearPassage> {
    let mut all = Vec::new();
    for (document, passages) in (0..).zip(documents) {
        let mut of_document: Vec<NearPassage> = (0..)
            .zip(passages)
            .map(|(passage, vector)| {
                let rounded: Vec<f32> = vector.iter().map(|x| f16::from_f32(*x).to_f32()).collect();
                NearPassage {
                    document,
                    passage,
                    cosine: vector::dot(query, &rounded),
                }
            })
            .collect();
        if unit == SearchUnit::Documents {
            of_document.sort_by(|a, b| b.cosine.total_cmp(&a.cosine));
            of_document.truncate(1);
        }
        all.extend(of_document);
    }
    // the sort is stable
    all.sort_by(|a, b| b.cosine.partial_cmp(&a.cosine).unwrap_or(Ordering::Equal));
    all.truncate(k);
    all
}

fn ids_of(documents: &[Vec<Vec<f32>>]) -> Vec<String> {
    (0..documents.len()).map(|id| format!("{id:04}")).collect()
}

fn nearest(
    documents: &[Vec<Vec<f32>>],
    queries: &[Vec<f32>],
    k: usize,
    unit: SearchUnit,
    is_included: &(dyn Fn(u32) -> bool + Sync),
) -> Vec<Vec<NearPassage>> {
    let vectors = Vectors::of(documents).unwrap();
    let ids = ids_of(documents);
    let id = |document: u32| ids.get(document as usize).map(String::as_str);
    vectors.nearest(queries, k, unit, is_included, &id).unwrap()
}

/// There are few different directions, so many passages are equal and many scores nearly equal.
fn vector_of(direction: u8, turn: u8) -> Vec<f32> {
    let mut vector: Vec<f32> = (0..24u8)
        .map(|at| f32::from((direction.wrapping_mul(31) ^ at.wrapping_mul(47)) % 16) - 7.0)
        .collect();
    vector[0] += f32::from(turn) * 1e-4;
    normalise(&mut vector);
    vector
}

proptest! {
    #[test]
    fn what_is_found_is_what_comparing_everything_finds(
        documents in prop::collection::vec(prop::collection::vec((0..9u8, 0..4u8), 0..4), 1..40),
        queries in prop::collection::vec((0..9u8, 0..9u8), 1..5),
        k in 0..12usize,
        by_passage: bool,
    ) {
        let vectors_of = |all: &Vec<(u8, u8)>| -> Vec<Vec<f32>> {
            all.iter().map(|(direction, turn)| vector_of(*direction, *turn)).collect()
        };
        let documents: Vec<Vec<Vec<f32>>> = documents.iter().map(vectors_of).collect();
        let queries = vectors_of(&queries);
        let unit = if by_passage { SearchUnit::Passages } else { SearchUnit::Documents };
        let found = nearest(&documents, &queries, k, unit, &|_| true);
        for (query, found) in queries.iter().zip(found) {
            prop_assert_eq!(found, all_compared(&documents, query, k, unit));
        }
    }
}

#[test]
fn the_nearest_passages_of_many_are_found_on_any_number_of_threads() {
    let documents: Vec<Vec<Vec<f32>>> = (0..3000u32)
        .map(|document| {
            let passages = document % 3;
            (0..passages)
                .map(|passage| vector_of((document % 251) as u8, (document / 251 + passage) as u8))
                .collect()
        })
        .collect();
    let queries: Vec<Vec<f32>> = (0..70).map(|query| vector_of(query, 3)).collect();
    for unit in [SearchUnit::Documents, SearchUnit::Passages] {
        let expected: Vec<Vec<NearPassage>> = queries
            .iter()
            .map(|query| all_compared(&documents, query, 100, unit))
            .collect();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            let found = pool.install(|| nearest(&documents, &queries, 100, unit, &|_| true));
            assert!(found == expected, "{unit:?} on {threads} threads");
        }
    }
}

#[test]
fn documents_that_are_left_out_are_not_found() {
    let documents: Vec<Vec<Vec<f32>>> = (0..6).map(|n| vec![vector_of(n, 0)]).collect();
    let of = |is_included: &(dyn Fn(u32) -> bool + Sync)| {
        let queries = [vector_of(2, 0)];
        nearest(&documents, &queries, 2, SearchUnit::Documents, is_included).remove(0)
    };
    assert_eq!(of(&|_| true)[0].document, 2);
    let others = of(&|document| document != 2);
    assert!(others.len() == 2 && others.iter().all(|near| near.document != 2));
    assert!(of(&|_| false).is_empty());
}

#[test]
fn queries_that_do_not_fit_are_refused() {
    let vectors = Vectors::of(&[vec![vector_of(1, 0)]]).unwrap();
    let nearest = |query: Vec<f32>| {
        let found = vectors.nearest(&[query], 1, SearchUnit::Documents, &|_| true, &|_| None);
        found.map_err(|error| error.to_string())
    };
    assert!(nearest(vec![1.0; 5]).unwrap_err().contains("5 numbers"));
    let mut query = vector_of(1, 0);
    query[3] = f32::NAN;
    assert!(nearest(query).unwrap_err().contains("not finite"));
    assert!(Vectors::of(&[vec![vec![1.0; 3]], vec![vec![1.0; 4]]]).is_err());
    let none = Vectors::of(&[Vec::new()]).unwrap();
    let found = none.nearest(
        &[vec![1.0; 5]],
        1,
        SearchUnit::Documents,
        &|_| true,
        &|_| None,
    );
    assert_eq!(found.unwrap(), [Vec::new()]);
}
