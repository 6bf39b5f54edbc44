import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.metadata.api.MetadataStore;
import org.apache.pulsar.metadata.api.MetadataStoreConfig;
import org.apache.pulsar.metadata.api.MetadataStoreFactory;

/** The workloads of bench/metadata/workloads.ts on Pulsar's RocksDB store. */
public class RocksdbBench {
    interface Call {
        void run(int i) throws Exception;
    }

    static long peakRss() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        return 0;
    }

    static void tell(String workload, int operations, double seconds, double[] times)
            throws Exception {
        Arrays.sort(times);
        String latencies = times.length == 0 ? "" : String.format(
                "\"p50us\":%.1f,\"p99us\":%.1f,",
                times[times.length / 2] / 1000, times[(int) (times.length * 0.99)] / 1000);
        System.out.printf(
                "{\"workload\":\"%s\",\"operations\":%d,\"seconds\":%.6f,%s\"checksum\":\"\","
                        + "\"counters\":{\"bytesOnDisk\":0,\"peakRssBytes\":%d,\"cpuSeconds\":0}}%n",
                workload, operations, seconds, latencies, peakRss());
    }

    static void measure(String workload, int count, Call call) throws Exception {
        double[] times = new double[count];
        long start = System.nanoTime();
        for (int i = 0; i < count; i++) {
            long begin = System.nanoTime();
            call.run(i);
            times[i] = System.nanoTime() - begin;
        }
        tell(workload, count, (System.nanoTime() - start) / 1e9, times);
    }

    static MetadataStore open(String directory, boolean fsync) throws Exception {
        return MetadataStoreFactory.create("rocksdb://" + directory,
                MetadataStoreConfig.builder().fsyncEnable(fsync).build());
    }

    public static void main(String[] words) throws Exception {
        String directory = words[0];
        int topics = Integer.parseInt(words[1]);
        int single = Integer.parseInt(words[2]);
        int outstanding = Integer.parseInt(words[3]);
        int listings = Math.max(1, Integer.parseInt(words[4]) / 500);
        byte[] value = new byte[100];
        Optional<Long> any = Optional.empty();
        // Loading with a sync for each topic would take hours.
        try (MetadataStore store = open(directory, false)) {
            for (int i = 0; i < topics; i++) {
                String path = "/managed-ledgers/acme/ns-" + i % 10 + "/persistent/topic-" + i;
                store.put(path, value, any).join();
            }
        }
        try (MetadataStore store = open(directory, true)) {
            measure("put", single, i -> store.put("/single/" + i, value, any).join());
            long start = System.nanoTime();
            List<CompletableFuture<?>> puts = new ArrayList<>();
            for (int i = 0; i < outstanding; i++) {
                puts.add(store.put("/many/" + i, value, any));
            }
            CompletableFuture.allOf(puts.toArray(new CompletableFuture[0])).join();
            tell("put-outstanding", outstanding, (System.nanoTime() - start) / 1e9, new double[0]);
            measure("cas-hot", outstanding / 10, i ->
                    store.put("/hot", value, Optional.of((long) i - 1)).join());
            measure("children", listings, i -> {
                // The store keeps listings; a change below the path makes it read again.
                store.put("/managed-ledgers/acme/ns-0/x" + i, value, any).join();
                store.delete("/managed-ledgers/acme/ns-0/x" + i, any).join();
                Thread.sleep(20);
                List<String> names = store.getChildren("/managed-ledgers/acme").join();
                if (names.size() != 10) {
                    throw new IllegalStateException("children: " + names);
                }
            });
        }
        System.exit(0);
    }
}
