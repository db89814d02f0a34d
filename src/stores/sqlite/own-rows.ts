/** A session counts its rows in other tables, because a missing row leaves no other trace. */
export const OWN_ROWS = `(SELECT count(*) FROM turn WHERE session = s.n)
  + (SELECT count(*) FROM operation WHERE session = s.n)
  + (SELECT count(*) FROM ledger WHERE session = s.n)
  + (SELECT count(*) FROM state WHERE session = s.n)
  + (SELECT count(*) FROM options WHERE session = s.n)
  + (SELECT count(*) FROM operation_note WHERE session = s.n)
  + (SELECT count(*) FROM wait WHERE session = s.n)
  + (SELECT count(*) FROM parked WHERE session = s.n)
  + (SELECT count(*) FROM job WHERE session = s.n)
  + (SELECT count(*) FROM subscription WHERE session = s.n)
  + (SELECT count(*) FROM delivery WHERE session = s.n)
  + (SELECT count(*) FROM note WHERE turn = s.turn)
  + (SELECT count(*) FROM attempt WHERE turn = s.turn)`;
