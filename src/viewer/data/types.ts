// The documents in the page: those of the commands' --json. Only what the page looks at is declared.
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Column {
  key: string;
  title: string;
  unit: string; // text, count, us, bytes, percent, number, yes/no
}

// What stands in a document for rows, or for another large value, that lie elsewhere in the file.
export type Elsewhere = { packed: number } | { left_out: number };

export interface TableHead {
  columns: Column[];
  n_rows: number;
  rows: Elsewhere | Record<string, string | number | boolean | null>[];
  notes: string[];
}

export interface Source {
  run: string;
  worker: string;
  span: string;
  rank?: number;
  node?: string;
}

export interface Stretches {
  count: number;
  batches: number;
  calls: number;
  left_out: number;
  us: number;
  percent: number | null;
}

export interface OverviewWorker extends Source {
  configuration: Record<string, string>;
  gpu_summary: [string, string][];
  gpus: Record<string, Json>[];
  average_step_time_us: number | null;
  median_step_time_us: number | null;
  execution_summary: { category: string; us: number | null; percent: number | null }[];
  counted: string;
  evaluations?: Stretches;
  inferences?: Stretches;
  after_loop?: Stretches;
  left_over?: Stretches;
  between?: Stretches;
  other?: { place: string; percent: number };
  own_cost: {
    cupti_us_per_step: number | null;
    cupti_percent: number | null;
    process_us: number | null;
    events: number;
  };
  notes: string[];
}

export interface Recommendation {
  id: string;
  severity: "high" | "moderate";
  title: string;
  text: string;
  share_percent: number | null;
  saving_us_per_step: number | null;
  minor: boolean;
  fix: string;
  link: string;
  evidence: { name: string; at_us: number; duration_us: number; thread: number | null }[];
}

export interface AdviseWorker extends Source {
  recommendations: Recommendation[];
  not_known: string[];
}

export interface StatsDocument {
  by: string;
  workers: (Source & TableHead & { sort: string | null })[];
}

// What one thing costs on both sides of a diff: means per step. Unknown (null): on one side only, or no interval.
export interface DiffRow {
  by: string;
  name: string;
  a_us: number | null;
  b_us: number | null;
  delta_us: number;
  change_percent: number | null;
  low_us: number | null;
  high_us: number | null;
  smallest_us: number | null;
  changed: boolean | null;
}

export interface DiffDocument extends TableHead {
  story: string;
  verdict: "unknown" | "noise" | "changed" | "second_changed";
  remarks: string[];
  sample: "runs" | "steps";
  runs: { a: number; b: number };
  steps: { a: number; b: number };
  step: DiffRow;
  second: DiffRow | null;
  alike: { by: string; change_percent: number; low_percent: number; high_percent: number }[];
  machine: { figure: string; title: string; a: number; b: number; apart: boolean }[];
}

export interface Documents {
  // of_jobs: the words of `tprof stats` whose "workers" are jobs. sides: A or B, by worker, where two were given.
  report: { tprof: string; left_out: string[]; of_jobs: string[]; sides?: string[] };
  overview: { workers: OverviewWorker[] };
  steps: { workers: (Source & TableHead)[] };
  advise: { workers: AdviseWorker[]; stragglers?: { run: string; span: string; lines: string[]; doubts: string[] }[] };
  stats: Record<string, StatsDocument>;
  diff?: DiffDocument;
}
