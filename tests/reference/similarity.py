"""The example in the tests of src/index/similarity.rs, computed with the formulas as their sources print them: 10 documents with 60 terms
in total; one term occurs 5 times, in 3 documents, and twice in a document of 8 terms."""
from math import log, log2, pi, sqrt

N, tokens, df, cf, tf, length = 10, 60, 3, 5, 2, 8
mean = tokens / N
p = (cf + 1) / (tokens + 1)  # Lucene's LMSimilarity.DefaultCollectionModel

k1, b = 1.2, 0.75  # Lucene's BM25Similarity: boost * idf * freq / (freq + k1 * (1 - b + b * dl / avgdl))
print('bm25', log(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean)))
mu = 100  # Zhai and Lafferty 2004: log p(w|d) = log((tf + mu p) / (length + mu)), minus log p, as two summands
whole = log((tf + mu * cf / tokens) / (length + mu)) - log(cf / tokens)
print('dirichlet length', log(mu / (mu + length)))
print('dirichlet', whole - log(mu / (mu + length)))
print('lucene dirichlet', max(0, log(1 + tf / (mu * p)) + log(mu / (length + mu))))
lam = 0.7  # LMJelinekMercerSimilarity: log(1 + ((1 - lambda) * freq / docLen) / (lambda * p))
print('jelinek-mercer', log(1 + ((1 - lam) * tf / length) / (lam * p)))
print('tf-idf', sqrt(tf) * (log((N + 1) / (df + 1)) + 1) / sqrt(length))
f = tf / length  # Terrier's DPH.score
norm = (1 - f) ** 2 / (tf + 1)
print('dph', norm * (tf * log2((tf * mean / length) * (N / cf)) + 0.5 * log2(2 * pi * tf * (1 - f))))
