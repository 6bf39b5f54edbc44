/** Starts the loading child, kills it, and checks what it left. */
import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Database } from '../../../src/entries/index.js'
import {
  lastOf,
  otherTableOf,
  sharedRowOf,
  tableOf,
  tables,
  valueOf,
  WriterModel,
  writerCount,
} from './kill-plan.js'
import type { ChildPlan } from './kill-plan.js'
import { RecoveryError } from '../recovery.js'
import { childEnvironment } from '../../helpers/child-environment.js'

const childPath = fileURLToPath(new URL('kill-child.js', import.meta.url))

/** Tables are emptied when the files on disk have become more than this. */
const filesPerRoundsMax = 150

/** What the rounds so far did. */
export interface KillCounts {
  rounds: number
  acknowledged: number
  /** Operations that were found although they had not been acknowledged. */
  unacknowledged: number
  /** Kills that came before the child had opened the database. */
  early: number
  filesMax: number
  openMillisecondsMax: number
}

export class KillTest {
  readonly counts: KillCounts = {
    rounds: 0,
    acknowledged: 0,
    unacknowledged: 0,
    early: 0,
    filesMax: 0,
    openMillisecondsMax: 0,
  }
  private readonly home = mkdtempSync(join(tmpdir(), 'cellar-kill-'))
  private readonly directory = join(this.home, 'database')
  private readonly models = Array.from({ length: writerCount }, (_, w) => new WriterModel(w))

  /**
   * One child, killed so many milliseconds after its first acknowledgement, or, every eighth
   * round, after its start, which may be before it has opened. Throws if it lost something.
   */
  async round(seed: number, milliseconds: number): Promise<void> {
    const acknowledged = await this.load(seed, milliseconds)
    this.counts.rounds++
    const start = performance.now()
    const database = await Database.open(this.directory, { executor: 'inline' })
    const elapsed = performance.now() - start
    this.counts.openMillisecondsMax = Math.max(this.counts.openMillisecondsMax, elapsed)
    try {
      for (const model of this.models) this.check(database, model, acknowledged[model.writer])
      const files = readdirSync(this.directory).length
      this.counts.filesMax = Math.max(this.counts.filesMax, files)
      if (files > filesPerRoundsMax) await this.wipe(database)
    } finally {
      await database.close()
    }
    const left = readdirSync(this.directory).filter((name) => name.endsWith('.tmp'))
    if (left.length > 0) throw new RecoveryError(`temporary files stay: ${left.join(' ')}`)
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }

  /** Runs and kills the child; returns the last acknowledged operation of every writer. */
  private async load(seed: number, milliseconds: number): Promise<number[]> {
    const done = this.models.map((model) => model.number)
    const bases = this.models.map((model) => model.base)
    const plan: ChildPlan = { directory: this.directory, done, bases, seed }
    const outputPath = join(this.home, 'output')
    const output = openSync(outputPath, 'w')
    const child = spawn(process.execPath, [childPath, JSON.stringify(plan)], {
      stdio: ['ignore', output, 'pipe', 'ipc'],
      env: childEnvironment,
    })
    closeSync(output)
    let complaint = ''
    child.stderr!.on('data', (data: Buffer) => (complaint += data.toString()))
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
    let timer: NodeJS.Timeout | undefined
    const killLater = () => (timer = setTimeout(() => child.kill('SIGKILL'), milliseconds))
    if (seed % 8 === 0) killLater()
    else child.once('message', killLater)
    const code = await ended
    clearTimeout(timer)
    if (code !== null) throw new RecoveryError(`the child ended with code ${code}: ${complaint}`)
    const lines = readFileSync(outputPath, 'utf8').split('\n')
    lines.pop() // Behind the last newline there is nothing, or half a line.
    if (lines[0] !== 'ready') this.counts.early++
    for (const line of lines.slice(1)) {
      const [writer, number] = line.split(' ').map(Number)
      done[writer] = number
      this.counts.acknowledged++
    }
    return done
  }

  /** The writer's rows must be as after its last acknowledged operation, or within the next. */
  private check(database: Database, model: WriterModel, acknowledged: number): void {
    const { writer } = model
    const found = database.hasTable(tableOf(writer)) ? rowsOf(database, writer) : ''
    checkSharedRow(database, writer)
    while (model.number < acknowledged) model.advance()
    const limit = lastOf(writer, acknowledged + 1)
    const first = model.text()
    for (; found !== model.text(); model.advance()) {
      if (model.number < limit) continue
      const lines = first.split('\n').filter((line) => !found.split('\n').includes(line))
      const extra = found.split('\n').filter((line) => !first.split('\n').includes(line))
      throw new RecoveryError(
        `writer ${writer} is not as after operation ${acknowledged} or up to ${limit}: ` +
          `missing ${lines.join(', ')}; instead ${extra.join(', ')}`,
      )
    }
    if (model.number > acknowledged) this.counts.unacknowledged++
    // A list that was cut off is not continued: its other puts count as never made.
    const rest = lastOf(writer, acknowledged + 1)
    if (model.number > acknowledged && model.number < rest) model.skipTo(rest)
  }

  private async wipe(database: Database): Promise<void> {
    for (const name of Object.keys(tables)) await database.truncateTable(name)
    for (const model of this.models) model.wipe()
  }
}

/** The row that atomic batches put in both tables has the values of one batch in both. */
function checkSharedRow(database: Database, writer: number): void {
  const row = sharedRowOf(writer)
  const values = [tableOf(writer), otherTableOf(writer)].flatMap((name) => {
    if (!database.hasTable(name)) return []
    const result = database.table(name).getSync({ row })
    return tables[name].map((family) => result.value(`${family}:v`)?.toString() ?? 'nothing')
  })
  if (new Set(values).size <= 1) return
  const shown = values.map((value) => value.slice(0, 12)).join(', ')
  throw new RecoveryError(`half of an atomic batch is there: row ${row} holds ${shown}`)
}

/** Rows of a writer, as its model shows them; throws if the families of a row differ. */
function rowsOf(database: Database, writer: number): string {
  const lines: string[] = []
  const name = tableOf(writer)
  for (const result of database.table(name).scanSync({ prefix: `w${writer} ` })) {
    const row = result.row!.toString()
    const count = result.value('f:count')
    if (count !== undefined) {
      lines.push(`${row}=${count.readBigInt64BE(0)}`)
      continue
    }
    const values = tables[name].map((family) => result.value(`${family}:v`)?.toString())
    const number = Number.parseInt(values[0] ?? '')
    if (values.some((value) => value !== valueOf(writer, number))) {
      const shown = values.map((value) => value?.slice(0, 12) ?? 'nothing').join(', ')
      throw new RecoveryError(`row ${row} is torn: its families hold ${shown}`)
    }
    lines.push(`${row}=${number}`)
  }
  return lines.sort().join('\n')
}
