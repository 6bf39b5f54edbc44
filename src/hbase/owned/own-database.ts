/**
 * How a database gets its one owner: by waiting until the earlier owner shows no life, and by
 * taking its log over. See `docs/owned-database.md`.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkDatabase } from '../../api/index.js'
import type * as api from '../../api/index.js'
import { checkMethods, readArguments } from '../../base/arguments.js'
import { abortedError, checkAborted } from '../../base/errors.js'
import { loadChecksums } from '../../storage/codec/checksum.js'
import { roundsOf, rowWrites } from './log/apply.js'
import { patienceOf, type LogPlace } from './log/log-store.js'
import type { LoggedBatch } from './log/logged-batch.js'
import { claim, readOwner, recover } from './log/takeover.js'
import { ownedOptions, type OwnedOptions } from './options.js'
import { OwnedDatabase } from './owned-database.js'
import { RowWriter } from './row-writer.js'
import { ensureLogTable, TableLogStore } from './table-log-store.js'

/**
 * Waits until no other process owns the database of this name, and becomes its owner: seals the log
 * of the earlier owner, and repeats what may not be applied.
 *
 * `database` is any database whose `checkAndMutate` is atomic for a row; it must not be closed
 * before the owned one. All who write its tables must use the owned database.
 *
 * @throws CellarError `ERR_INVALID_ARGUMENT`; `ERR_ABORTED` by the signal; `ERR_LOCKED` if another
 *   process took over meanwhile; `ERR_CORRUPTION` if the log is damaged; errors of the store.
 */
export async function ownDatabase(
  database: api.Database,
  options: OwnedOptions,
): Promise<OwnedDatabase> {
  checkMethods(checkDatabase(database, 'ownDatabase'), 'the database', ['table', 'createTable'])
  const settings = readArguments(() => ownedOptions.read(options))
  await loadChecksums()
  const { name, logTable, signal, retryMilliseconds } = settings
  const patience = patienceOf(retryMilliseconds)
  await ensureLogTable(database, logTable, settings.durability)
  const store = new TableLogStore(database.table(logTable))
  const place: LogPlace = { store, name, patience }
  const writer = new RowWriter(database, 'passed over')
  for (;;) {
    checkAborted('ownDatabase', signal)
    const seen = await readOwner(place)
    if (seen !== undefined && seen.state.owner !== '') {
      const { version } = seen.state
      await sleep(settings.takeoverMilliseconds, undefined, { signal }).catch(() => {
        throw abortedError('ownDatabase', signal)
      })
      if ((await readOwner(place))?.state.version !== version) continue
    }
    const claimed = await claim(place, randomUUID(), seen)
    if (claimed === undefined) continue
    const write = async (batches: readonly LoggedBatch[]): Promise<void> => {
      for (const round of roundsOf(batches)) await writer.write(rowWrites(round), patience)
    }
    const recovered = await recover(place, claimed, write)
    const owned = new OwnedDatabase(database, settings, place, recovered)
    await owned.begin()
    return owned
  }
}
