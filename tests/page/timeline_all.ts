// What timeline.mjs needs of the page.
export { openDocuments } from "../../src/viewer/data/documents";
export { loadDetails, loadTimeline } from "../../src/viewer/data/timeline";
