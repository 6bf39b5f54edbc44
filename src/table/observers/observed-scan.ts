/**
 * A running scan with its observers.
 *
 * An observer that fails in `preScannerNext` or `postScannerNext` ends the scan with its error. The
 * close itself cannot fail, because it releases files: errors of observers of the close are
 * warnings.
 */
import { readArguments } from '../../base/arguments.js'
import type { TableState } from '../../storage/engine/catalog/catalog.js'
import type { TableParts } from '../../storage/engine/engine.js'
import { resultKinds, type ObserverChain } from './observer-chain.js'
import type { ObservedScan } from '../../api/observer.js'
import type { Result } from '../../api/results/result.js'
import { planScan } from '../reads/scan-plan.js'
import { ScanSession } from '../reads/scan-session.js'
import { readPointOf, readTimeOf } from '../reads/snapshot.js'
import type { Scan } from '../../api/index.js'
import { checkForm } from '../../checks/forms.js'

class ObservedScanSession extends ScanSession {
  private readonly chain: ObserverChain
  private readonly observed: ObservedScan
  /** Whether `preScannerNext` was called for the result that is being read. */
  private asked = false
  private closing = false

  constructor(
    parts: TableParts,
    table: TableState,
    chain: ObserverChain,
    scan: Scan,
    mayBlock: boolean,
  ) {
    const { plan, readPoint, readTime } = readArguments(() => ({
      plan: planScan(table, scan),
      readPoint: readPointOf(scan, parts.readPoints),
      readTime: readTimeOf(scan),
    }))
    super(parts, table, plan, readPoint, mayBlock, readTime)
    this.readNothingAhead()
    this.chain = chain
    this.observed = { scan }
    if (chain.has('postScannerFilterRow')) {
      this.tellFiltered((row) => {
        return chain.post<boolean>(
          'postScannerFilterRow',
          [this.observed, row],
          true,
          resultKinds.boolean,
        )
      })
    }
    try {
      chain.tell('postScannerOpen', [this.observed])
    } catch (error) {
      this.close()
      throw error
    }
  }

  override next(): Result | 'pause' | undefined {
    if (this.ended) return undefined
    const { chain, observed } = this
    if (!this.asked) {
      const answer = chain.mayBypass('preScannerNext', [observed], resultKinds.resultOrEnd)
      if (answer.bypassed) {
        if (answer.result === undefined) this.close()
        return answer.result
      }
      this.asked = true
    }
    const result = super.next()
    if (result === 'pause') return result
    this.asked = false
    return chain.post('postScannerNext', [observed], result, resultKinds.result)
  }

  override close(): void {
    if (this.closing) return
    this.closing = true
    this.chain.tellSafely('preScannerClose', [this.observed])
    super.close()
    this.chain.tellSafely('postScannerClose', [this.observed])
  }
}

/** Opens a scan with observers. */
export function openObservedScan(
  parts: TableParts,
  table: TableState,
  chain: ObserverChain,
  scan: Scan,
  mayBlock: boolean,
): ScanSession {
  const { operation } = chain.pre('preScannerOpen', checkForm(scan, 'scan'), resultKinds.nothing)
  return new ObservedScanSession(parts, table, chain, operation, mayBlock)
}
