// Calls of modules: on the timeline and in stacks "nn.Module: Linear_0", in the table of modules "Linear_0".
const kPrefix = "nn.Module: ";

export const callOfModule = (name: string): string => kPrefix + name;
export const moduleOfCall = (name: string): string => (name.startsWith(kPrefix) ? name.slice(kPrefix.length) : name);
