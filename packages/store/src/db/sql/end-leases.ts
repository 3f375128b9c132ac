/**
 * The text of a statement that sets the end of leases.
 *
 * Guarantee: it changes only rows whose claim is still the given one, so none that a worker has taken since.
 * A locked row is skipped: another session takes or deletes it now. Waiting for it could deadlock, since a
 * DELETE locks in another order.
 *
 * $1 ids, $2 claims under which they were leased. Returns the id of each row that changed.
 *
 * @param at an SQL expression: the new end of the lease, or null.
 */
export function endLeases({
  at,
  table,
  id,
  idType,
}: {
  readonly at:
    | 'now()'
    | 'now() + make_interval(secs => $3)'
    | 'case when d.id = any ($3::bigint[]) then now() end';
  readonly table: string;
  readonly id: string;
  readonly idType: string;
}): string {
  return `
    with mine as materialized (
      select d.${id}
      from unnest($1::${idType}[], $2::int[]) u (id, claim)
      join ${table} d on d.${id} = u.id and d.claim = u.claim
      where d.${id} = any ($1::${idType}[])
      for update of d skip locked
    )
    update ${table} d
    set leased_until = ${at}
    where d.${id} = any (array(select ${id} from mine))
    returning d.${id} as id`;
}
