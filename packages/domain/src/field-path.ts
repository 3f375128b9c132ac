/** The longest name in an answer, in characters. */
const NAME_LENGTH_MAX = 100;

/**
 * The path of a field as written in the request: `to`, `to[2]`, `headers.<name>`. A single value without an
 * array keeps its plain name. The path of the body itself is empty.
 */
export function fieldPath(path: readonly PropertyKey[], body: unknown): string {
  const [field, ...rest] = path;
  if (field === undefined) return '';
  const inArray = Array.isArray(valueAt(body, [field]));
  return rest.reduce<string>((text, part) => {
    if (typeof part === 'number') return inArray ? `${text}[${part}]` : text;
    return `${text}.${cut(String(part))}`;
  }, String(field));
}

/** The value at a path in the body. Undefined when there is none. */
export function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined,
    body,
  );
}

/** Cuts a long name, so that the answer stays small. Every valid name is shorter. */
function cut(name: string): string {
  // A character has at most two code units.
  const head = Array.from(name.slice(0, 2 * NAME_LENGTH_MAX))
    .slice(0, NAME_LENGTH_MAX)
    .join('');
  return head.length < name.length ? `${head}…` : name;
}
