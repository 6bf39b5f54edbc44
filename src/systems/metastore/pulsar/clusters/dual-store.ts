/**
 * A handle that follows a migration: uses the source until the migration is completed, then the
 * target.
 */
import { CallOrder } from '../../../../comfort/call-order.js'
import { after, systemClock } from '../../kernel/backoff.js'
import { warnOfListener, type ListenerErrorHandler } from '../../kernel/listener-errors.js'
import { checkCachingStore, checkFunction } from '../../metadata/arguments.js'
import { metadataError } from '../../metadata/errors.js'
import {
  coordinatorRecord,
  giveUpIfDead,
  isMoving,
  migrationPath,
  participantsPath,
  readMigration,
  type MigrationPhase,
  type OpenTarget,
} from './migration.js'
import { RelayHandle } from './relay-handle.js'
import type { CachingStore } from '../../metadata/types.js'

const retryMilliseconds = 100

/**
 * See the file header. During the migration, reads use the source, writes fail with
 * `ERR_METADATA_ILLEGAL_STATE`, and sessions count as lost. `SessionLost` is reported at the start
 * and `SessionReestablished` at the end or after a failure, so locks are acquired again in the
 * store in use.
 */
export class DualMetadataStore extends RelayHandle implements CachingStore {
  readonly #source: CachingStore
  readonly #openTarget: OpenTarget
  #target: CachingStore | undefined = undefined
  #phase: MigrationPhase = 'NOT_STARTED'
  #detach: () => void
  readonly #stopListening: readonly (() => void)[]
  /** Path of the participant's record; no migration copies while the record exists. */
  #participant: string | undefined = undefined
  readonly #writes = new Set<Promise<unknown>>()
  /** Two steps at once would write two records. */
  readonly #steps = new CallOrder()
  #isClosed = false

  private constructor(source: CachingStore, openTarget: OpenTarget, onError: ListenerErrorHandler) {
    super(onError)
    this.#source = source
    this.#openTarget = openTarget
    this.#detach = this.attach(source)
    this.#stopListening = [
      source.registerListener(({ path, type }) => {
        const isEndOfCoordinator = path === coordinatorRecord && type === 'Deleted'
        if (path === migrationPath || isEndOfCoordinator) this.#follow()
      }),
      source.registerSessionListener((event) => {
        // The participant's record was removed with the session, and events may have been missed.
        if (event === 'SessionReestablished') this.#participant = undefined
        if (event === 'SessionReestablished' || event === 'Reconnected') this.#follow()
      }),
    ]
  }

  /**
   * Opens a handle over a source. Closing the handle closes the source; after an error the source
   * is as before the call.
   */
  static async open(
    source: CachingStore,
    openTarget: OpenTarget,
    onListenerError: ListenerErrorHandler = warnOfListener,
  ): Promise<DualMetadataStore> {
    checkCachingStore(source)
    checkFunction(openTarget, 'openTarget')
    checkFunction(onListenerError, 'onListenerError')
    const store = new DualMetadataStore(source, openTarget, onListenerError)
    try {
      await store.#steps.run(() => store.#step())
    } catch (error) {
      await store.#stop()
      await store.#leave().catch(() => undefined)
      throw error
    }
    return store
  }

  /** The phase of the migration that this handle has reached. */
  get phase(): MigrationPhase {
    return this.#phase
  }

  protected get target(): CachingStore {
    return this.#phase === 'COMPLETED' && this.#target !== undefined ? this.#target : this.#source
  }

  protected async end(): Promise<void> {
    await this.#stop()
    await Promise.all([this.#source.close(), this.#target?.close()])
  }

  /** Ends the listening; resolves when no step is in progress. */
  async #stop(): Promise<void> {
    this.#isClosed = true
    for (const stop of this.#stopListening) stop()
    this.#detach()
    await this.#steps.run(() => undefined)
  }

  get #isMoving(): boolean {
    return isMoving({ phase: this.#phase })
  }

  protected override write<T>(write: (store: CachingStore) => Promise<T>): Promise<T> {
    if (this.#isMoving) {
      const message = 'write operations are not allowed while the records move'
      return Promise.reject(metadataError('illegalState', message))
    }
    const done = super.write(write)
    this.#writes.add(done)
    const forget = (): void => void this.#writes.delete(done)
    done.then(forget, forget)
    return done
  }

  /** Reads the state of the migration and acts on it. */
  #follow(): void {
    void this.#steps.run(async () => {
      while (!this.#isClosed) {
        try {
          return await this.#step()
        } catch (error) {
          if (this.#isClosed) return
          this.onListenerError(error)
          await after(systemClock, retryMilliseconds)
        }
      }
    })
  }

  async #step(): Promise<void> {
    const { state } = await readMigration(this.#source)
    const wasMoving = this.#isMoving
    if (state.phase === 'COMPLETED') {
      if (this.#phase === 'COMPLETED') return
      this.#target ??= checkCachingStore(await this.#openTarget(state.targetUrl))
      this.#phase = 'COMPLETED'
      this.#detach()
      this.#detach = this.attach(this.#target)
      this.resetCaches()
      if (wasMoving) this.tellSession('SessionReestablished')
      return
    }
    if (isMoving(state)) {
      if (!(await giveUpIfDead(this.#source))) return this.#step()
      this.#phase = state.phase
      if (!wasMoving) this.tellSession('SessionLost')
      await Promise.allSettled([...this.#writes])
      return this.#leave()
    }
    await this.#takePart()
    // A migration that began before the record existed may not have waited for this handle.
    if ((await readMigration(this.#source)).state.phase !== state.phase) return this.#step()
    this.#phase = state.phase
    if (wasMoving) this.tellSession('SessionReestablished')
  }

  async #takePart(): Promise<void> {
    if (this.#participant !== undefined) return
    const options = { ephemeral: true, sequential: true }
    const { path } = await this.#source.put(`${participantsPath}/handle-`, '', undefined, options)
    this.#participant = path
  }

  async #leave(): Promise<void> {
    if (this.#participant === undefined) return
    await this.#source.deleteIfExists(this.#participant)
    this.#participant = undefined
  }
}
