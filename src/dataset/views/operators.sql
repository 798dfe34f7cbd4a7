-- Operators, labels and calls of a job, over all its processes and spans.
CREATE VIEW operators AS
SELECT job, name, kind,
       count(DISTINCT worker) AS processes,
       sum(calls) AS calls,
       sum(host_self_ns) AS host_self_ns,
       sum(host_total_ns) AS host_total_ns,
       sum(device_self_ns) AS device_self_ns,
       sum(device_total_ns) AS device_total_ns
FROM op_agg
GROUP BY job, name, kind;
