use super::TopValues;

proptest::proptest! {
    #[test]
    fn the_kth_largest_is_found(numbers in proptest::collection::vec(-9i32..9, 0..300), k in 1usize..40) {
        let mut largest = TopValues::new(k);
        numbers.iter().for_each(|n| largest.push(f64::from(*n)));
        let found = largest.cut();
        let mut sorted = numbers.clone();
        sorted.sort_by(|a, b| b.cmp(a));
        let expected = sorted.get(k - 1).map_or(f64::NEG_INFINITY, |n| f64::from(*n));
        proptest::prop_assert_eq!(found, expected);
    }
}
