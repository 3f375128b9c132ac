/**
 * JSON as it is written, rather than as what it means: members keep their order and may come twice, `raw` is any text
 * at all, and what is deep or long is kept short until it is rendered.
 */
export type Written =
  | null
  | boolean
  | number
  | string
  | readonly Written[]
  | { readonly members: readonly Member[] }
  | { readonly raw: string }
  | { readonly nested: number; readonly open: '[' | '{"a":' }
  | { readonly times: number; readonly of: Written };

type Member = readonly [name: string, value: Written];

/** One change at one place: the `at`-th value of the document, counted from its root and around. */
export interface Change {
  readonly at: number;
  readonly how: Edit;
}

type Edit =
  | { readonly kind: 'replace' | 'double'; readonly value: Written }
  | { readonly kind: 'remove' | 'wrap' }
  | { readonly kind: 'rename'; readonly name: string }
  | { readonly kind: 'add'; readonly name: string; readonly value: Written };

export function written(value: unknown): Written {
  if (Array.isArray(value)) return value.map(written);
  if (typeof value !== 'object' || value === null) return value as Written;
  return { members: Object.entries(value).map(([name, each]) => [name, written(each)] as const) };
}

export function render(value: Written): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(render).join(',')}]`;
  if ('raw' in value) return value.raw;
  if ('times' in value) return `[${Array<string>(value.times).fill(render(value.of)).join(',')}]`;
  if ('nested' in value) {
    const close = value.open === '[' ? ']' : '}';
    return `${value.open.repeat(value.nested)}1${close.repeat(value.nested)}`;
  }
  return `{${value.members.map(([name, each]) => `${JSON.stringify(name)}:${render(each)}`).join(',')}}`;
}

export function changed(value: Written, changes: readonly Change[]): Written {
  return changes.reduce<Written>((current, { at, how }) => {
    const left = { steps: at % countOf(current) };
    return edited({ name: null, value: current }, left, how)[0]?.value ?? { raw: '' };
  }, value);
}

/** A value in its place: `name` is null for elements and the root. */
interface Place {
  readonly name: string | null;
  readonly value: Written;
}

function edited(place: Place, left: { steps: number }, how: Edit): Place[] {
  left.steps -= 1;
  if (left.steps === -1) return applied(place, how);
  const { name, value } = place;
  if (isList(value)) {
    const places = value.flatMap((each) => edited({ name: null, value: each }, left, how));
    return [{ name, value: places.map((each) => each.value) }];
  }
  if (!hasMembers(value)) return [place];
  const places = value.members.flatMap((member) => edited({ name: member[0], value: member[1] }, left, how));
  return [{ name, value: { members: places.map((each) => [each.name ?? '', each.value] as const) } }];
}

function applied(place: Place, how: Edit): Place[] {
  switch (how.kind) {
    case 'replace':
      return [{ ...place, value: how.value }];
    case 'double':
      return [place, { ...place, value: how.value }];
    case 'remove':
      return [];
    case 'wrap':
      return [{ ...place, value: [place.value] }];
    case 'rename':
      return [{ ...place, name: how.name }];
    case 'add': {
      const members = hasMembers(place.value) ? place.value.members : [];
      return [{ ...place, value: { members: [...members, [how.name, how.value]] } }];
    }
  }
}

/** How many values there are, the whole document included. */
export function countOf(value: Written): number {
  if (isList(value)) return value.reduce<number>((sum, each) => sum + countOf(each), 1);
  return hasMembers(value) ? value.members.reduce((sum, [, each]) => sum + countOf(each), 1) : 1;
}

function isList(value: Written): value is readonly Written[] {
  return Array.isArray(value);
}

function hasMembers(value: Written): value is { readonly members: readonly Member[] } {
  return typeof value === 'object' && value !== null && 'members' in value;
}
