/** `cellar compact`: merges the files of a closed database. */
import { looking, writing, type DirectoryWords } from './open.js'
import { Output, shownSize } from './output.js'
import { Progress } from './progress.js'

/** Options of `cellar compact`. */
export interface CompactWords extends DirectoryWords {
  readonly family?: string
  readonly minor?: true
}

/** Compacts a table, or all. */
export async function compact(table: string | undefined, words: CompactWords): Promise<void> {
  const output = new Output(words.json === true)
  const progress = new Progress('compacting')
  const sizes = (): Promise<number> =>
    looking(words, async (database) => database.statistics().tableFileBytes)
  const bytesBefore = await sizes()
  await writing(words, (database) => {
    const major = words.minor !== true
    return database.compact(table, { major, family: words.family, onProgress: progress.part })
  }).finally(() => progress.end())
  const bytesAfter = await sizes()
  if (output.json) await output.value({ table: table ?? null, bytesBefore, bytesAfter })
  else
    await output.line(`SSTables: ${shownSize(bytesBefore)} before, ${shownSize(bytesAfter)} after`)
}
