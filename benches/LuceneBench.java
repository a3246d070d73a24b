// Lucene's part of bench_text.py: builds or queries an index in a Java virtual machine that is warmed up before it is timed.
//
//   java -Xmx4g -cp JAR LuceneBench.java build INDEX SCRATCH FIELD,... FILE...
//   java -Xmx4g -cp JAR LuceneBench.java search INDEX FIELD TOPICS bm25|dirichlet CUT ROUNDS RUNS
//
// JAR contains Lucene 9 and Jackson, like Anserini's jar. build: one thread for each FILE, which has one document per line:
// {"id": ..., FIELD: ...}; the fields are stored, and indexed with frequencies and without positions. search: TOPICS has one title per
// line; one thread. A process runs one kind of query: after several kinds, Java's compiled code must serve all of them and is slower.
// Each command prints one JSON object with the keys that the other systems of bench_text.py have.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.search.similarities.LMDirichletSimilarity;
import org.apache.lucene.search.similarities.Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.QueryBuilder;
import org.apache.lucene.util.Version;

public class LuceneBench {
    static final double BUFFER_MB = 600;
    static final int WARM_DOCUMENTS = 20_000;
    static final double WARM_SECONDS = 5;
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        Map<String, Object> report = switch (args.length > 0 ? args[0] : "") {
            case "build" -> {
                List<Path> files = Arrays.stream(args).skip(4).map(Path::of).toList();
                yield build(Path.of(args[1]), Path.of(args[2]), args[3].split(","), files);
            }
            case "search" -> {
                int[] numbers = Arrays.stream(args).skip(5).mapToInt(Integer::parseInt).toArray();
                yield search(Path.of(args[1]), args[2], Path.of(args[3]), args[4], numbers[0], numbers[1], numbers[2]);
            }
            default -> throw new IllegalArgumentException("the first argument must be build or search");
        };
        System.out.println(JSON.writeValueAsString(report));
    }

    // building

    static Map<String, Object> build(Path place, Path scratch, String[] fields, List<Path> files) throws Exception {
        index(scratch, fields, files, WARM_DOCUMENTS / files.size());
        System.gc();
        OperatingSystemMXBean process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        long start = System.nanoTime();
        long cpu = process.getProcessCpuTime();
        int documents = index(place, fields, files, Integer.MAX_VALUE);
        double seconds = seconds(start);
        double cpuSeconds = (process.getProcessCpuTime() - cpu) / 1e9;
        Map<String, Object> report = new LinkedHashMap<>();
        report.put("documents", documents);
        report.put("build_s", seconds);
        report.put("build_cpu_s", cpuSeconds);
        report.put("peak_mb", peakMb());
        report.put("lucene", Version.LATEST.toString());
        report.put("java", System.getProperty("java.version"));
        return report;
    }

    /** Puts up to `limit` documents of each file into a new index, which is committed when it is closed, and returns their number. */
    static int index(Path place, String[] fields, List<Path> files, int limit) throws Exception {
        IndexWriterConfig config = new IndexWriterConfig(new EnglishAnalyzer());
        config.setOpenMode(IndexWriterConfig.OpenMode.CREATE);
        config.setRAMBufferSizeMB(BUFFER_MB);
        config.setUseCompoundFile(false);
        FieldType type = new FieldType();
        type.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
        type.setTokenized(true);
        type.setStored(true);
        type.freeze();
        int documents = 0;
        ExecutorService threads = Executors.newFixedThreadPool(files.size());
        try (Directory directory = FSDirectory.open(place); IndexWriter writer = new IndexWriter(directory, config)) {
            List<Future<Integer>> parts = new ArrayList<>();
            for (Path file : files) {
                parts.add(threads.submit(() -> add(writer, type, fields, file, limit)));
            }
            for (Future<Integer> part : parts) {
                documents += part.get();
            }
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof Exception cause ? cause : failed;
        } finally {
            threads.shutdown();
        }
        return documents;
    }

    static int add(IndexWriter writer, FieldType type, String[] fields, Path file, int limit) throws IOException {
        int documents = 0;
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            for (String line; documents < limit && (line = lines.readLine()) != null; documents++) {
                JsonNode read = JSON.readTree(line);
                Document document = new Document();
                document.add(new StoredField("id", read.get("id").asText()));
                for (String field : fields) {
                    document.add(new Field(field, read.get(field).asText(), type));
                }
                writer.addDocument(document);
            }
        }
        return documents;
    }

    // searching

    static Map<String, Object> search(Path place, String field, Path topics, String name, int cut, int rounds, int runs)
            throws IOException {
        List<String> titles = Files.readAllLines(topics);
        Similarity similarity = switch (name) {
            case "bm25" -> new BM25Similarity(1.2f, 0.75f);
            case "dirichlet" -> new LMDirichletSimilarity(1000);
            default -> throw new IllegalArgumentException(name);
        };
        Map<String, Object> report = new LinkedHashMap<>();
        try (Directory directory = FSDirectory.open(place); DirectoryReader reader = DirectoryReader.open(directory)) {
            IndexSearcher searcher = new IndexSearcher(reader);
            searcher.setSimilarity(similarity);
            searcher.setQueryCache(null);
            QueryBuilder parser = new QueryBuilder(new EnglishAnalyzer());
            for (long start = System.nanoTime(); seconds(start) < WARM_SECONDS; ) {
                ask(searcher, parser, field, titles, cut);
            }
            double[] times = new double[runs];
            for (int run = 0; run < runs; run++) {
                long start = System.nanoTime();
                for (int round = 0; round < rounds; round++) {
                    ask(searcher, parser, field, titles, cut);
                }
                times[run] = 1e3 * seconds(start) / rounds / titles.size();
            }
            report.put(name + " " + cut, median(times));
            report.put("segments", reader.leaves().size());
        }
        report.put("search_peak_mb", peakMb());
        return report;
    }

    static void ask(IndexSearcher searcher, QueryBuilder parser, String field, List<String> titles, int cut) throws IOException {
        for (String title : titles) {
            // a title of stop words only makes no query
            Query query = parser.createBooleanQuery(field, title);
            if (query != null) {
                searcher.search(query, cut);
            }
        }
    }

    static double seconds(long start) {
        return (System.nanoTime() - start) / 1e9;
    }

    static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int half = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }

    /** The peak of the resident memory of this process in MB; null where the system does not report it. */
    static Double peakMb() throws IOException {
        Path status = Path.of("/proc/self/status");
        if (!Files.exists(status)) {
            return null;
        }
        for (String line : Files.readAllLines(status)) {
            if (line.startsWith("VmHWM:")) {
                return Double.parseDouble(line.replaceAll("\\D", "")) / 1e3;
            }
        }
        return null;
    }
}
