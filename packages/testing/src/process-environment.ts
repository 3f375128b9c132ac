/**
 * Sets environment variables of this process, for libraries that read them. Undefined unsets one.
 *
 * @returns a function that restores all of them
 */
export function setEnvironment(values: Readonly<Record<string, string | undefined>>): () => void {
  const before = Object.fromEntries(Object.keys(values).map((key) => [key, process.env[key]]));
  assign(values);
  return () => assign(before);
}

function assign(values: Readonly<Record<string, string | undefined>>): void {
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined) Reflect.deleteProperty(process.env, key);
    else process.env[key] = value;
  }
}
