-- Which process the others wait for. Own time is that of a step without its time in collectives that is, or may be,
-- waiting for others. `excess_ns` is how much longer it is than the mean of the other ranks in the same step, over all
-- steps; `slowest_in` counts the steps in which it was the longest of all. Whether that is more than chance is said by
-- tprof overview.
CREATE VIEW stragglers AS
WITH own AS (
  SELECT job, span, rank, worker, name, waiting_ns,
         duration_ns - coalesce(waiting_ns, 0) - coalesce(undivided_ns, 0) AS own_ns
  FROM step
), compared AS (
  SELECT *,
         count(*) OVER same_step AS ranks,
         max(own_ns) OVER same_step AS longest_ns,
         sum(own_ns) OVER same_step AS all_ns
  FROM own
  WINDOW same_step AS (PARTITION BY job, span, name)
)
SELECT job, span, rank, worker,
       count(*) AS steps,
       sum(own_ns) AS own_ns,
       sum(waiting_ns) AS waiting_ns,
       sum(own_ns - CAST(all_ns - own_ns AS DOUBLE) / (ranks - 1)) AS excess_ns,
       sum(CASE WHEN own_ns = longest_ns THEN 1 ELSE 0 END) AS slowest_in
FROM compared
WHERE ranks > 1
GROUP BY job, span, rank, worker;
