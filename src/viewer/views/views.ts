// The views of the page, in the order of their tabs. A new one is a file in this folder and a row here.
import type { ComponentType } from "preact";
import { DiffView, diffAbsent } from "./diff";
import { Distributed, distributedAbsent } from "./distributed";
import { Flames, flamesAbsent } from "./flames";
import { Kernels, kernelsAbsent } from "./kernels";
import { Memory, memoryAbsent } from "./memory";
import { Modules, modulesAbsent } from "./modules";
import { Operators, operatorsAbsent } from "./operators";
import { Overview } from "./overview";

export interface View {
  name: string; // in the address
  title: string;
  component: ComponentType<{ worker: number }>;
  // Why there is nothing to see for this worker; undefined where there is. Its tab then cannot be chosen.
  absent?: (worker: number) => string | undefined;
}

export const views: View[] = [
  { name: "overview", title: "Overview", component: Overview },
  { name: "operators", title: "Operators", component: Operators, absent: operatorsAbsent },
  { name: "kernels", title: "Kernels", component: Kernels, absent: kernelsAbsent },
  { name: "memory", title: "Memory", component: Memory, absent: memoryAbsent },
  { name: "modules", title: "Modules", component: Modules, absent: modulesAbsent },
  { name: "flames", title: "Flame graphs", component: Flames, absent: flamesAbsent },
  { name: "distributed", title: "Distributed", component: Distributed, absent: distributedAbsent },
  { name: "diff", title: "Diff", component: DiffView, absent: diffAbsent },
];
