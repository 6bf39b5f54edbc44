/**
 * What an open must do with a log or a manifest that was harmed at one place: the tables of
 * `src/storage/wal/FORMAT.md` and `src/storage/record/FORMAT.md`, worked out from the bytes of the
 * files. It uses nothing of the engine.
 */
const headerBytes = 120
const frameHeaderBytes = 32
const sectorBytes = 512

/** How the last process left the database. */
export type Stop = 'closed' | 'killed' | 'machine stopped'

/** One harm to one file. */
export type Harm =
  | { readonly kind: 'flip'; readonly at: number; readonly bit: number }
  | { readonly kind: 'cut'; readonly length: number }

/** What must come of it. */
export type Outcome =
  | { readonly kind: 'refused' }
  /** Left out from the offset of the file on; the rows of these frames are there. */
  | { readonly kind: 'cut'; readonly offset: number; readonly rows: readonly string[] }
  /** Nothing is said; the rows of what is there are there. */
  | { readonly kind: 'opened'; readonly rows: readonly string[] }

/** A frame of a record file. */
export interface Frame {
  readonly start: number
  readonly end: number
  readonly syncedLength: number
  readonly predecessorsSynced: boolean
  /** Offset behind the last byte of the frame's header that is not zero. */
  readonly headerShownEnd: number
  readonly rows: readonly string[]
}

/** A log segment or a manifest without damage. */
export interface RecordFile {
  readonly bytes: Buffer
  readonly frames: readonly Frame[]
  /** Where the last frame ends. */
  readonly end: number
  readonly predecessorsSynced: boolean
}

const refused: Outcome = { kind: 'refused' }

/**
 * Whether a file that is cut at `length` shows nothing behind `end`. The frame there may begin with
 * zeros: one checksum in 256 does.
 */
function isEmptyRoom({ bytes }: RecordFile, end: number, length: number): boolean {
  return bytes.subarray(end, length).every((byte) => byte === 0)
}

/** Takes a record file apart. */
export function readFrames(bytes: Buffer): RecordFile {
  const frames: Frame[] = []
  let start = headerBytes
  while (start + frameHeaderBytes < bytes.length && bytes[start + 23] !== 0) {
    const payloadEnd = start + frameHeaderBytes + bytes.readUInt32LE(start + 8)
    const payload = bytes.toString('latin1', start + frameHeaderBytes, payloadEnd)
    let headerShownEnd = start + frameHeaderBytes
    while (bytes[headerShownEnd - 1] === 0) headerShownEnd--
    frames.push({
      start,
      end: payloadEnd + 1,
      syncedLength: Number(bytes.readBigUInt64LE(start + 24)),
      predecessorsSynced: bytes[start + 23] >= 0x80,
      headerShownEnd,
      rows: payload.match(/row \d{4}/g) ?? [],
    })
    start = payloadEnd + 1
  }
  const predecessorsSynced = bytes.readBigUInt64LE(64) === 1n
  return { bytes, frames, end: start, predecessorsSynced }
}

/** The number of 64 bits at `at` of the last note in the file, or undefined. */
function noteIn(file: RecordFile, at: number): number | undefined {
  const note = file.frames.filter(({ start }) => (file.bytes[start + 23] & 0x7f) === 3).at(-1)
  if (note === undefined) return undefined
  return Number(file.bytes.readBigUInt64LE(note.start + frameHeaderBytes + at))
}

/** What the log says at its end of how much of the manifest was durable. */
function manifestNoted(segment: RecordFile): number {
  return noteIn(segment, 8) ?? Number(segment.bytes.readBigUInt64LE(96))
}

/** Whether all sectors that could explain the damage of the frame were surely stored. */
export function wasStored(
  frame: Frame,
  flipAt: number,
  next: Frame | undefined,
  bytes: Buffer,
): boolean {
  const sector = (offset: number): number => Math.floor(offset / sectorBytes)
  const at = flipAt - frame.start
  const headerIsGood = at < 8 || at >= frameHeaderBytes
  const end = headerIsGood ? frame.end : frame.start + frameHeaderBytes
  const shown = new Set<number>()
  if (headerIsGood) {
    // The eight bytes of the checksum in front are no part of what the header check covers, and a
    // lost sector may read as zeros.
    const checked = bytes.subarray(0, frame.headerShownEnd)
    for (let at = frame.start + 8; at < checked.length; at++) {
      if (checked[at] !== 0) shown.add(sector(at))
    }
  }
  if (next !== undefined) {
    const first = sector(next.start)
    const sectorEnd = (first + 1) * sectorBytes
    const isShown = bytes.subarray(next.start, sectorEnd).some((byte) => byte !== 0)
    for (let s = isShown ? first : first + 1; s <= sector(end - 1); s++) shown.add(s)
  }
  for (let s = sector(frame.start); s <= sector(end - 1); s++) if (!shown.has(s)) return false
  return true
}

/** The highest length that a frame other than the given one says was durable. */
function syncedBeside(file: RecordFile, damaged: Frame | undefined): number {
  return Math.max(0, ...file.frames.filter((f) => f !== damaged).map((f) => f.syncedLength))
}

/** Judges harm to the files of one database. */
export class DamageOracle {
  private readonly segments: readonly RecordFile[]
  private readonly manifest: RecordFile
  private readonly stop: Stop
  private readonly flushedRows: readonly string[]

  /**
   * @param segments - of the log, the oldest first.
   * @param flushedRows - rows that SSTables hold.
   */
  constructor(
    stop: Stop,
    manifest: Buffer,
    segments: readonly Buffer[],
    flushedRows: readonly string[],
  ) {
    this.stop = stop
    this.manifest = readFrames(manifest)
    this.segments = segments.map(readFrames)
    this.flushedRows = flushedRows
  }

  /** All rows of the unharmed database. */
  get rows(): string[] {
    return this.rowsUpTo(this.segments.length - 1, Infinity)
  }

  ofManifest(harm: Harm): Outcome {
    const file = this.manifest
    if (this.stop === 'closed') return refused
    const at = harm.kind === 'flip' ? harm.at : harm.length
    // The first edit was durable before the file had its name.
    if (at < file.frames[0].end) return refused
    const noted = manifestNoted(this.segments.at(-1)!)
    const { rows } = this
    if (harm.kind === 'flip') {
      const outcome = this.ofFlip(file, harm.at, rows)
      return outcome.kind === 'cut' && outcome.offset < noted ? refused : outcome
    }
    const end = this.endBefore(file, harm.length)
    if (end < noted) return refused
    if (isEmptyRoom(file, end, harm.length)) return { kind: 'opened', rows }
    return { kind: 'cut', offset: end, rows }
  }

  /** The first segment that is needed: those before it hold only rows that SSTables hold too. */
  private get firstNeeded(): number {
    const { segments, flushedRows } = this
    for (let index = segments.length - 1; index > 0; index--) {
      const before = segments.slice(0, index).flatMap(({ frames }) => frames)
      const isFlushed = (row: string): boolean => flushedRows.includes(row)
      if (before.every(({ rows }) => rows.every(isFlushed))) return index
    }
    return 0
  }

  /** Of the segment being gone. */
  ofMissing(index: number): Outcome {
    const { rows } = this
    if (index < this.firstNeeded) return { kind: 'opened', rows }
    // Whether the manifest knows of the segment; it does as soon as its name is durable.
    const number = Number(this.segments[index].bytes.readBigUInt64LE(16))
    const isLast = index === this.segments.length - 1
    if (!isLast || this.stop === 'closed' || (noteIn(this.manifest, 0) ?? 0) >= number)
      return refused
    return { kind: 'opened', rows: this.rowsUpTo(index - 1, Infinity) }
  }

  /** Of two segments that stand in each other's place. */
  ofExchange(one: number, other: number): Outcome {
    const isNeeded = Math.max(one, other) >= this.firstNeeded
    return isNeeded ? refused : { kind: 'opened', rows: this.rows }
  }

  ofSegment(index: number, harm: Harm): Outcome {
    if (index < this.firstNeeded) return { kind: 'opened', rows: this.rows }
    if (this.stop === 'closed') return refused
    const file = this.segments[index]
    const at = harm.kind === 'flip' ? harm.at : harm.length
    // Behind the end of a segment that has a successor stands nothing that counts.
    const isLast = index === this.segments.length - 1
    if (at >= file.end && (!isLast || harm.kind === 'cut')) {
      return { kind: 'opened', rows: this.rows }
    }
    const laterSaysDurable = this.segments
      .slice(index + 1)
      .some((later) => later.predecessorsSynced || later.frames.some((f) => f.predecessorsSynced))
    if (laterSaysDurable) return refused
    if (harm.kind === 'flip') {
      const start = file.frames.find((frame) => harm.at < frame.end)?.start ?? file.end
      return this.ofFlip(file, harm.at, this.rowsUpTo(index, start))
    }
    const offset = this.endBefore(file, harm.length)
    const rows = this.rowsUpTo(index, offset)
    if (isLast && offset > 0 && isEmptyRoom(file, offset, harm.length)) {
      return { kind: 'opened', rows }
    }
    return { kind: 'cut', offset, rows }
  }

  private ofFlip(file: RecordFile, at: number, rowsBefore: readonly string[]): Outcome {
    if (at < headerBytes) return refused
    const index = file.frames.findIndex((frame) => at < frame.end)
    if (index < 0) {
      // The beginning of a frame that was never written whole, as far as anyone can tell.
      const isCutWrite = at - file.end < frameHeaderBytes - 1
      if (this.stop === 'killed' && !isCutWrite) return refused
      return { kind: 'cut', offset: file.end, rows: rowsBefore }
    }
    const frame = file.frames[index]
    if (this.stop === 'killed') return refused
    if (frame.start < syncedBeside(file, frame)) return refused
    if (wasStored(frame, at, file.frames.at(index + 1), file.bytes)) return refused
    return { kind: 'cut', offset: frame.start, rows: rowsBefore }
  }

  /** Where the last whole part of a file of that length ends: a frame, the header, or nothing. */
  private endBefore(file: RecordFile, length: number): number {
    if (length < headerBytes) return 0
    return Math.max(headerBytes, ...file.frames.map((f) => f.end).filter((end) => end <= length))
  }

  private rowsUpTo(index: number, offset: number): string[] {
    const rows = new Set(this.flushedRows)
    for (const [i, { frames }] of this.segments.entries()) {
      for (const frame of frames) {
        if (i > index || (i === index && frame.end > offset)) break
        for (const row of frame.rows) rows.add(row)
      }
    }
    return [...rows].sort()
  }
}
