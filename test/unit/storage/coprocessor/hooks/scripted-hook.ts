/** A cell hook for tests whose behaviour is an option. Loaded by jobs, so it stands alone. */
import type {
  CellDecision,
  CellHook,
  CellHookSetup,
  CellReplacement,
  CellView,
} from '../../../../../src/entries/index.js'

const keep = 0
const drop = 1
const replace = 2

/** What an async method gives that throws. */
function rejection(): Promise<never> {
  return Promise.reject(new Error('nothing waits for this'))
}

/** What the hook's `finish` tells. */
export interface ScriptedReport {
  readonly kind: string
  readonly context: unknown
  readonly cells: number
  readonly rows: number
  readonly markers: number
}

class ScriptedHook implements CellHook {
  readonly decidesMarkers: boolean
  private readonly script: string
  private readonly setup: CellHookSetup
  private cells = 0
  private rows = 0
  private markers = 0

  constructor(setup: CellHookSetup) {
    this.setup = setup
    const { script = 'keep' } = setup.options
    this.script = script as string
    this.decidesMarkers = setup.options['decidesMarkers'] === true
  }

  startRow(): void {
    this.rows++
    // A method that returns a promise is still of this type.
    if (this.script === 'promise in startRow') return rejection() as unknown as undefined
  }

  decide(cell: CellView, replacement: CellReplacement): CellDecision {
    this.cells++
    if (cell.type !== 4) this.markers++
    switch (this.script) {
      case 'drop':
        return drop
      case 'drop odd rows':
        return Number(cell.copyRow().toString().slice(1)) % 2 === 1 ? drop : keep
      case 'append x':
        replacement.setValue(Buffer.concat([cell.copyValue(), Buffer.from('x')]))
        return replace
      case 'drop values with x':
        return cell.copyValue().includes('x') ? drop : keep
      case 'throw':
        throw new Error('thrown on purpose')
      case 'throw a value without text':
        throw Object.create(null) as Error
      case 'throw an error with a function as message':
        throw Object.assign(new Error(), { message: () => 'on purpose' })
      case 'slow':
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
        return keep
      case 'nonsense':
        return 'maybe' as unknown as CellDecision
      case 'promise in decide':
        return rejection() as unknown as CellDecision
      case 'replace by nothing':
        return replace
      case 'set and keep':
        replacement.setValue(Buffer.from('lost'))
        return keep
      case 'loop':
        for (;;) this.cells++
      case 'loop later':
        if (this.cells > 3000) for (;;) this.cells++
        return keep
      default:
        return keep
    }
  }

  finish(): unknown {
    if (this.script === 'bad report') return () => undefined
    if (this.script === 'promise in finish') return rejection()
    const { cells, rows, markers, setup } = this
    const report: ScriptedReport = {
      kind: setup.job.kind,
      context: setup.context,
      cells,
      rows,
      markers,
    }
    return report
  }
}

export function createCellHook(setup: CellHookSetup): CellHook {
  if (setup.options['script'] === 'no hook') return {} as CellHook
  if (setup.options['script'] === 'promise in createCellHook') {
    return rejection() as unknown as CellHook
  }
  return new ScriptedHook(setup)
}
