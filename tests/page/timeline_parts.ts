// What timeline_parts.mjs looks at.
export { Lane } from "../../src/viewer/timeline/lanes";
export { Source } from "../../src/viewer/timeline/source";
export { kLeast, paintLane, paintMarks } from "../../src/viewer/timeline/strip";
export { sumsOf } from "../../src/viewer/timeline/selection";
export { Extremes } from "../../src/viewer/timeline/counter";
export { nextHit, rankOf, search } from "../../src/viewer/timeline/search";
export { arrowsFrom, arrowsTo } from "../../src/viewer/timeline/flows";
