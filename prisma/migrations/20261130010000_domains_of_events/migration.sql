-- The domains that events belong to. An event about sent mail belongs to the domain in From; the id of the mail is the first value
-- of its data. An event about received mail belongs to the domains of the addresses that it was received for. Any other event
-- belongs to none. Recording asks once for all events of a statement, so it can leave webhooks of other domains unlocked.
create function domains_of_events(data text[]) returns text[] language plpgsql stable as $$
declare
  domains text[] := '{}';
  each text;
begin
  foreach each in array data loop
    if starts_with(each, '{"email_id":"') then
      domains := domains || (select e.from_domain from emails e where e.id = substr(each, 14, 29));
    else
      domains := domains || array(
        select lower(substring(r.address collate "C" from '@([^@]*)$'))
        from json_array_elements_text(each::json -> 'received_for') r (address));
    end if;
  end loop;
  return domains;
end $$;

-- Whether an event belongs to one of the domains, as before.
create or replace function is_event_of_domains(data text, domains text[]) returns boolean language plpgsql stable as $$
begin
  return domains_of_events(array[data]) && domains;
end $$;
