-- Whether an event belongs to one of the domains. Recording and every list of a webhook's events ask it. An event about sent
-- mail belongs to the domain in From; the id of the mail is the first value of its data. An event about received mail
-- belongs to the domains of the addresses that it was received for. Any other event belongs to none.
--
-- A function, because a statement prepares its subqueries also for webhooks without domains: 80 µs for each event.
create function is_event_of_domains(data text, domains text[]) returns boolean language plpgsql stable as $$
begin
  if starts_with(data, '{"email_id":"') then
    return exists (
      select from emails e where e.id = substr(data, 14, 29) and e.from_domain = any (domains));
  end if;
  return exists (
    select from json_array_elements_text(data::json -> 'received_for') r (address)
    where lower(substring(r.address from '@([^@]*)$')) = any (domains));
end $$;
