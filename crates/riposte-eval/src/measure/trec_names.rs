//! The names that trec_eval gives to measures.

/// Names without a number, and the measures of ir_measures that they mean. `Rprec` and `infAP` are the same in both.
const PLAIN: [(&str, &str); 13] = [
    ("map", "AP"),
    ("ndcg", "nDCG"),
    ("recip_rank", "RR"),
    ("bpref", "Bpref"),
    ("set_P", "SetP"),
    ("set_relative_P", "SetP(relative=True)"),
    ("set_recall", "SetR"),
    ("set_F", "SetF"),
    ("set_map", "SetAP"),
    ("num_q", "NumQ"),
    ("num_ret", "NumRet"),
    ("num_rel", "NumRel"),
    ("num_rel_ret", "NumRelRet"),
];

/// Names that a number follows, as in `ndcg_cut_10` or `ndcg_cut.10`, and what stands before and after the number in ir_measures.
const WITH_NUMBER: [(&str, &str, &str); 7] = [
    ("P", "P@", ""),
    ("map_cut", "AP@", ""),
    ("ndcg_cut", "nDCG@", ""),
    ("recall", "R@", ""),
    ("success", "Success@", ""),
    ("iprec_at_recall", "IPrec@", ""),
    ("set_F", "SetF(beta=", ")"),
];

/// The name in ir_measures of a measure with a name of trec_eval; `None` if it is no such name. The error says what is wrong.
pub(super) fn ir_measures_name(text: &str) -> Option<Result<String, String>> {
    if let Some((_, name)) = PLAIN.iter().find(|(trec, _)| *trec == text) {
        return Some(Ok((*name).to_owned()));
    }
    WITH_NUMBER.iter().find_map(|(trec, before, after)| {
        let number = text.strip_prefix(trec)?;
        if number.is_empty() && *trec != "P" {
            return Some(Err(format!("it needs a number, as in {trec}_5")));
        }
        let number = number.strip_prefix(['_', '.'])?;
        // P_IA is a name of ir_measures
        if *trec == "P" && number.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        Some(match number.contains(',') {
            true => Err("each number is a measure of its own".to_owned()),
            false => Ok(format!("{before}{number}{after}")),
        })
    })
}
