/** Of a name in an answer, in characters. */
const NAME_LENGTH_MAX = 100;

/**
 * `to`, `to[2]`, `headers.<name>`: a place in a body as its request wrote it. A lone value that was written without an
 * array keeps its plain name, and the body itself has none: the empty text.
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

/** What stands at a place of a body; undefined where nothing does. */
export function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined,
    body,
  );
}

/** A name as long as the body would make an answer of the body's size; all that can be right are shorter. */
function cut(name: string): string {
  const head = Array.from(name.slice(0, 2 * NAME_LENGTH_MAX))
    .slice(0, NAME_LENGTH_MAX)
    .join('');
  return head.length < name.length ? `${head}…` : name;
}
