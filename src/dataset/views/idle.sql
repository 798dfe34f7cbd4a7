-- The gaps of each GPU: from the end of all work before to the start of the work `next_work`, which the host launched in
-- `next_op`. Before the first and after the last work of a trace there is no gap.
CREATE VIEW idle AS
WITH work AS (
  SELECT job, rank, worker, span, device, name, op, start_ns,
         max(start_ns + duration_ns) OVER (
           PARTITION BY job, rank, worker, span, device
           ORDER BY start_ns
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
         ) AS busy_until_ns
  FROM slice
  WHERE kind IN ('kernel', 'graph', 'gpu_memcpy', 'gpu_memset')
)
SELECT job, rank, worker, span, device,
       busy_until_ns AS start_ns,
       start_ns - busy_until_ns AS duration_ns,
       name AS next_work,
       op AS next_op
FROM work
WHERE start_ns > busy_until_ns;
