import { render } from "preact";
import { openDocuments } from "./data/documents";
import { App } from "./shell";
import "uplot/dist/uPlot.min.css";
import "./style/page.css";
import "./style/around.css";
import "./style/tables.css";
import "./style/charts.css";
import "./style/timeline.css";
import "./style/views.css";

const root = document.getElementById("app")!;
openDocuments().then(
  () => {
    root.textContent = "";
    render(<App />, root);
    document.documentElement.dataset.ready = "yes";
  },
  (why) => {
    root.textContent =
      typeof DecompressionStream === "undefined"
        ? "This browser is too old to open the report: it needs Chrome or Edge 103, Firefox 113, Safari 16.4, or newer."
        : `The report could not be opened: ${why}`;
  },
);
