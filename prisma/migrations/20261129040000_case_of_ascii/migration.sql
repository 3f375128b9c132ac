-- no transaction
-- Addresses are compared in the lower case of JavaScript. In a database with the rules of Turkish, `lower('I')` is another
-- letter. `collate "C"` lowers ASCII alike in every database.
create index concurrently if not exists messages_by_sender
  on messages (left(lower(rtrim(substring(from_address collate "C" from '[^<]*$'), '>')), 320), created_at desc, id desc);

drop index concurrently if exists messages_of_sender;

-- Whether an event belongs to one of the domains, as before.
create or replace function is_event_of_domains(data text, domains text[]) returns boolean language plpgsql stable as $$
begin
  if starts_with(data, '{"email_id":"') then
    return exists (
      select from emails e where e.id = substr(data, 14, 29) and e.from_domain = any (domains));
  end if;
  return exists (
    select from json_array_elements_text(data::json -> 'received_for') r (address)
    where lower(substring(r.address collate "C" from '@([^@]*)$')) = any (domains));
end $$;
