-- Where the time of the steps of each process went. Parts are summed over the GPUs of a process.
CREATE VIEW overview AS
SELECT job, rank, worker, span,
       sum(is_step) AS steps,
       sum(duration_ns) AS total_ns,
       avg(duration_ns) AS mean_ns,
       max(duration_ns) AS longest_ns,
       sum(computation_ns) AS computation_ns,
       sum(overlap_ns) AS overlap_ns,
       sum(communication_ns) AS communication_ns,
       sum(other_ns) AS other_ns,
       sum(loader_ns) AS loader_ns,
       sum(waiting_ns) AS waiting_ns
FROM step
GROUP BY job, rank, worker, span;
