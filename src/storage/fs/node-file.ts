/**
 * An open file of the machine, through calls of `node:fs`.
 *
 * Short reads and writes are continued here. An interrupted read or write is repeated; a sync is
 * never repeated. A descriptor is closed only after all reads and syncs on it have settled, since
 * the system could give its number to another file.
 */
import { assert } from '../../base/assert.js'
import { fileError, syntheticError, systemCode } from './errors.js'
import type { File } from './types.js'

/** The functions of `node:fs` that files use; tests replace them to simulate unusual kernels. */
export type SystemCalls = Pick<
  typeof import('node:fs'),
  | 'closeSync'
  | 'fdatasync'
  | 'fdatasyncSync'
  | 'fstatSync'
  | 'fsync'
  | 'fsyncSync'
  | 'ftruncateSync'
  | 'openSync'
  | 'read'
  | 'readSync'
  | 'writeSync'
>

/** Repetitions without progress after which an interrupted call counts as failed. */
const interruptionsMax = 1000

function interrupted(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'EINTR' || code === 'EAGAIN'
}

export class NodeFile implements File {
  readonly path: string
  private readonly system: SystemCalls
  private readonly descriptor: number
  private closed = false
  /** Asynchronous calls that use the descriptor now. */
  private callsUnderWay = 0

  constructor(system: SystemCalls, path: string, descriptor: number) {
    this.path = path
    this.system = system
    this.descriptor = descriptor
  }

  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number {
    this.checkRead(target, targetStart, length)
    let done = 0
    let interruptions = 0
    while (done < length) {
      const at = targetStart + done
      try {
        const count = this.system.readSync(
          this.descriptor,
          target,
          at,
          length - done,
          position + done,
        )
        if (count === 0) break
        done += count
        interruptions = 0
      } catch (error) {
        if (!interrupted(error) || ++interruptions > interruptionsMax) {
          throw fileError('read', this.path, error)
        }
      }
    }
    return done
  }

  async read(
    target: Uint8Array,
    targetStart: number,
    length: number,
    position: number,
  ): Promise<number> {
    this.checkRead(target, targetStart, length)
    this.callsUnderWay++
    try {
      return await this.readAll(target, targetStart, length, position)
    } catch (error) {
      throw fileError('read', this.path, error)
    } finally {
      this.settled()
    }
  }

  writeSync(source: Uint8Array, start: number, end: number, position: number): void {
    this.checkOpen('write')
    assert(start >= 0 && start <= end && end <= source.length, 'write outside of its source')
    let at = start
    let interruptions = 0
    while (at < end) {
      try {
        const count = this.system.writeSync(
          this.descriptor,
          source,
          at,
          end - at,
          position + (at - start),
        )
        interruptions = count === 0 ? interruptions + 1 : 0
        if (interruptions > interruptionsMax) throw syntheticError('EIO')
        at += count
      } catch (error) {
        if (!interrupted(error) || ++interruptions > interruptionsMax) {
          throw fileError('write', this.path, error)
        }
      }
    }
  }

  syncSync(): void {
    this.checkOpen('sync')
    attempt('sync', this.path, () => this.system.fdatasyncSync(this.descriptor))
  }

  async sync(): Promise<void> {
    this.checkOpen('sync')
    this.callsUnderWay++
    try {
      await settled((done) => this.system.fdatasync(this.descriptor, done))
    } catch (error) {
      throw fileError('sync', this.path, error)
    } finally {
      this.settled()
    }
  }

  sizeSync(): number {
    this.checkOpen('stat')
    return attempt('stat', this.path, () => this.system.fstatSync(this.descriptor).size)
  }

  truncateSync(length: number): void {
    this.checkOpen('truncate')
    attempt('truncate', this.path, () => this.system.ftruncateSync(this.descriptor, length))
  }

  closeSync(): void {
    if (this.closed) return
    this.closed = true
    if (this.callsUnderWay > 0) return
    attempt('close', this.path, () => this.system.closeSync(this.descriptor))
  }

  private readAll(
    target: Uint8Array,
    targetStart: number,
    length: number,
    position: number,
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      let done = 0
      let interruptions = 0
      const step = (): void => {
        const start = targetStart + done
        this.system.read(this.descriptor, target, start, length - done, position + done, settle)
      }
      const settle = (error: Error | null, count: number): void => {
        if (error) {
          if (interrupted(error) && ++interruptions <= interruptionsMax) step()
          else reject(error)
          return
        }
        interruptions = 0
        done += count
        if (count === 0 || done === length) resolve(done)
        else step()
      }
      if (length === 0) resolve(0)
      else step()
    })
  }

  /**
   * Counts the end of an asynchronous call. The last one closes a file whose user has closed it.
   */
  private settled(): void {
    this.callsUnderWay--
    if (!this.closed || this.callsUnderWay > 0) return
    attempt('close', this.path, () => this.system.closeSync(this.descriptor))
  }

  private checkRead(target: Uint8Array, targetStart: number, length: number): void {
    this.checkOpen('read')
    assert(
      targetStart >= 0 && length >= 0 && targetStart + length <= target.length,
      'read outside of its target',
    )
  }

  private checkOpen(operation: string): void {
    if (this.closed) throw fileError(operation, this.path, syntheticError('EBADF'))
  }
}

/** Settles as a call of `node:fs` does that takes a callback. */
export function settled(call: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => {
      if (error) reject(error)
      else resolve()
    })
  })
}

/** Runs a step on a file or path. A failure of the system becomes a {@link fileError}. */
export function attempt<T>(operation: string, path: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw fileError(operation, path, error)
  }
}
