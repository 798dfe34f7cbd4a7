// The sources of flame graphs: words of the documents, and what they are called.
export const kSources: [string, string][] = [
  ["sampled", "Sampled"],
  ["python", "Python"],
  ["module", "Modules"],
  ["operator", "Operators"],
  ["gpu", "GPU"],
];
