// The functions of the suite: one runner for all of them, and the gates at which they wait.
import { AsyncLocalStorage } from 'node:async_hooks'
import { KINDS, eventKind, meets, showFields } from './kinds.mjs'
import { openStream } from './streams.mjs'
import { Fault, FunctionSpec, Outcome, assign, isAwaitable, read, show, showResult, thrown } from './values.mjs'

/** One function of the suite: its script, its settings, and how often it was called. */
export class Part {
  calls = 0
  listeners = new Map()

  constructor(spec) {
    this.name = spec.$fn
    this.spec = spec
  }

  scriptOf(n) {
    const { calls } = this.spec
    const script = calls === undefined ? this.spec.do : calls[Math.min(n, calls.length) - 1]
    return script === 'gate' ? [{ do: 'gate' }] : script ?? []
  }
}

const partOf = (world, value, kind) => {
  if (value instanceof FunctionSpec) return world.part(value.spec)
  throw new Fault(`a function is wanted for ${kind}: {"$fn": name, …}`)
}

/** What the implementation gets where it takes a callback of this kind. */
export function callable(world, value, kind) {
  const part = partOf(world, value, kind.name)
  return (...args) => invoke(world, part, kind, args)
}

/** The same for a listener; the same function listens to the same event with the same callable. */
export function listener(world, value, event) {
  const { listeners } = partOf(world, value, event)
  if (!listeners.has(event)) listeners.set(event, callable(world, value, eventKind(event)))
  return listeners.get(event)
}

/** Call a function of the suite. */
export function invoke(world, part, kind, args) {
  const { when } = part.spec
  const reading = kind.reading(...args)
  const call = { world, part, kind, nexts: [], outcomes: [], ...reading, agent: world.live(reading.agent) }
  const counted = !world.closed && (when === undefined || meets(when, kind, call, world))
  if (!counted) return kind.streams ? openStream(call, []) : pass(call)
  call.n = ++part.calls
  const script = part.scriptOf(call.n)
  follow(call)
  if (script[0]?.do !== 'gate') world.row({ on: 'script', ...callRow(call) })
  if (kind.streams) return openStream(call, script)
  return yields(script) ? handOver(call, script) : drive(call, play(call, script))
}

const ofCall = ({ part, n }) => ({ part: part.name, n })
const ofGate = ({ gate }) => (gate === undefined ? {} : { gate: gate.id })

function callRow(call) {
  const { world, part, kind, n } = call
  const agent = world.agentName(call.agent)
  const row = { part: part.name, kind: kind.name, n }
  if (agent !== undefined) row.agent = agent
  row.payload = showFields(kind, call, world)
  return row
}

/** Report the signal of a call when it fires, run what `onAbort` says, and end a gate that is automatic. */
function follow(call) {
  const { signal, world, part } = call
  if (signal === undefined || signal.aborted) return
  const { abort, onAbort, watch } = part.spec
  const fired = () => {
    world.row({ on: 'abort', ...ofCall(call), ...ofGate(call), reason: show(signal.reason, world) })
    if (onAbort !== undefined) atOnce(call, onAbort, 'abort.')
    if (abort === 'auto' && call.gate !== undefined) closeGate(call.gate, 'abort')
  }
  signal.addEventListener('abort', fired, { once: true })
  if (!watch) call.unfollow = () => signal.removeEventListener('abort', fired)
}

/** End a call the way its kind passes. */
function pass(call) {
  if (call.kind.pass !== undefined) return call.kind.pass(call.fields)
  if (call.next === undefined) return undefined
  return call.nexts.length > 0 ? call.nexts.at(-1).answer : call.next()
}

/** Run a script as an ordinary call up to its first wait, and as an asynchronous one from there on. */
function drive(call, script) {
  const end = ({ value }) => {
    call.unfollow?.()
    return value === undefined ? pass(call) : value.answer
  }
  const failed = (error) => {
    call.unfollow?.()
    call.world.faultOrThrow(error)
    return pass(call)
  }
  let step
  try {
    step = script.next()
    if (!step.done && !call.kind.waits) throw new Fault(`a ${call.kind.name} function cannot wait`)
  } catch (error) {
    return failed(error)
  }
  return step.done ? end(step) : wait(script, step).then(end, failed)
}

const yields = (script) => script.some((action) => action.do === 'yield')
const mayWait = (action) => action.do === 'gate' || action.do === 'pause' || action.await === true

/** Run a script that yields, as it is asked for one thing after the other: an iterator, where it waits a later one. */
function handOver(call, script) {
  const steps = play(call, script)
  const item = ({ done, value }) => ({ done, value: done ? value?.answer : value.yielded })
  const failed = (error) => {
    call.world.faultOrThrow(error)
    return { done: true, value: undefined }
  }
  if (script.some(mayWait)) {
    if (!call.kind.waits) throw new Fault(`a ${call.kind.name} function cannot wait`)
    const next = async () => item(await wait(steps, steps.next(), (step) => step !== undefined && 'yielded' in step))
    return { [Symbol.asyncIterator]: () => ({ next: () => next().catch(failed) }) }
  }
  const next = () => {
    try {
      return item(steps.next())
    } catch (error) {
      return failed(error)
    }
  }
  return { [Symbol.iterator]: () => ({ next }) }
}

/** Go on with a script that waits, until it ends or `until` likes what it yields. One wait is one tick. */
export async function wait(script, step, until = () => false) {
  while (!step.done && !until(step.value)) {
    let waited
    try {
      waited = { value: await step.value }
    } catch (error) {
      waited = { error }
    }
    step = 'error' in waited ? script.throw(waited.error) : script.next(waited.value)
  }
  return step
}

/**
 * The actions of a script, in order. Yields what it waits for (to a stream its items, each as `{chunk}`, and its
 * gate), and answers `{answer}` where it ends the call itself.
 */
export function* play(call, script, prefix = '', stream = undefined) {
  const { world } = call
  for (const [index, action] of script.entries()) {
    const frame = { world, call, at: `${prefix}${index}` }
    if (action.op !== undefined) yield* command(call, action, frame)
    else if (action.do === 'next') {
      const { answer } = callNext(call, frame, action)
      if (isAwaitable(answer)) yield answer
    } else if (action.do === 'return') return { answer: readAnswer(call, action.value, frame) }
    else if (action.do === 'throw') throw read(action.error, frame)
    else if (action.do === 'reject') return { answer: Promise.reject(read(action.error, frame)) }
    else if (action.do === 'pass') break
    else if (action.do === 'gate' && stream === undefined) return { answer: yield openGate(call).promise }
    else if (action.do === 'gate') yield openGate(call, stream)
    else if (action.do === 'pause') for (let tick = 0; tick < action.ticks; tick++) yield
    else if (action.do === 'defer') defer(call, action, frame.at)
    else if (action.do === 'context' && call.run !== undefined) call.run.deferContext(read(action.message, frame))
    else if (action.do === 'conclude' && call.run !== undefined) call.run.concludeTurn()
    else if (action.do === 'yield' && call.kind.owns !== undefined) {
      yield { yielded: readAnswer(call, action.value, frame) }
    } else if (action.do === 'set') setField(call, action, frame)
    else if (action.do === 'chunk' && stream !== undefined) yield { chunk: read(action.chunk, frame) }
    else if (action.do === 'chunks' && stream !== undefined) {
      for (const chunk of action.list) yield { chunk: read(chunk, frame) }
    } else throw new Fault(`in a ${call.kind.name} function this means nothing: ${JSON.stringify(action)}`)
  }
  return call.kind === KINDS.run ? { answer: call.outcomes } : undefined
}

function* command(call, action, frame) {
  const outcome = call.world.execute(action, { ...frame, ...ofCall(call) })
  if (action.await && outcome.promise !== undefined) {
    let waited
    try {
      waited = { value: yield outcome.promise }
    } catch (error) {
      waited = { error }
    }
    outcome.settled(waited)
  }
  call.outcomes.push(new Outcome(outcome))
  if (action.raise && 'raised' in outcome) throw outcome.raised
}

/** Run actions that cannot wait: in a gate that goes on waiting, in a signal that fires, in a later tick. */
function atOnce(call, script, prefix) {
  const inner = { ...call, outcomes: [] }
  try {
    const { done, value } = play(inner, script, prefix).next()
    if (!done || (value !== undefined && value.answer !== inner.outcomes)) {
      throw new Fault('what runs at once can neither wait nor end the call')
    }
  } catch (error) {
    call.world.faultOrThrow(error)
  }
  return inner.outcomes
}

async function defer(call, { ticks, commands }, place) {
  for (let tick = 0; tick < ticks; tick++) await undefined
  if (!call.world.closed) atOnce(call, commands, `${place}.`)
}

function setField(call, { path, value }, frame) {
  try {
    assign(call.fields, path, read(value, frame))
  } catch (error) {
    if (error instanceof Fault) throw error
    const { world } = call
    world.row({ on: 'return', op: 'set', at: frame.at, ...ofCall(call), error: thrown(error, world) })
  }
}

/** Call `next` and record how it settles. */
function callNext(call, frame, { args = [], keep }) {
  const { world } = call
  if (call.next === undefined) throw new Fault(`a ${call.kind.name} function has no next()`)
  const entry = {}
  const number = call.nexts.push(entry) - 1
  const about = { on: 'next', ...ofCall(call), ...ofGate(call), call: number }
  const failed = (error) => world.row({ ...about, error: thrown(error, world) })
  const succeeded = (value) => {
    entry.answer = value
    if (keep !== undefined) world.kept.set(keep, value)
    world.row({ ...about, value: showResult(value, world) })
  }
  try {
    entry.answer = call.next(...read(args, frame))
  } catch (error) {
    failed(error)
    throw error
  }
  if (isAwaitable(entry.answer)) entry.answer.then(succeeded, failed)
  else succeeded(entry.answer)
  return entry
}

/** Read what ends a call, or what it hands over: the commit of a setup and the undo of a body are functions too. */
function readAnswer(call, value, frame) {
  const answer = value === undefined ? undefined : read(value, frame)
  if (call.kind === KINDS.setup && answer?.commit instanceof FunctionSpec) {
    answer.commit = callable(call.world, answer.commit, KINDS.commit(call.agent))
  }
  if (call.kind.owns !== undefined && answer instanceof FunctionSpec) {
    return callable(call.world, answer, KINDS.undo(call.kind.owns(call.fields)))
  }
  return call.kind.answer === undefined ? answer : call.kind.answer(answer)
}

/** Let a call wait for the suite. A stream is told what the suite says, any other call gets it from the promise. */
function openGate(call, stream) {
  const { world, part, signal } = call
  const gate = { id: world.gateId(), call, stream, inside: AsyncLocalStorage.snapshot(), ...Promise.withResolvers() }
  call.gate = gate
  world.gates.set(gate.id, gate)
  world.row({ on: 'gate', gate: gate.id, ...callRow(call) })
  if (world.closed) fail(gate, world.gone)
  else if (part.spec.abort === 'auto' && signal?.aborted) closeGate(gate, 'abort')
  return gate
}

/** End a gate that the suite has not answered. */
export function closeGate(gate, why) {
  const { world, signal } = gate.call
  if (!world.gates.delete(gate.id)) return
  gate.call.gate = undefined
  world.row({ on: 'closed', gate: gate.id, why })
  if (why === 'abort') fail(gate, signal.reason)
}

/** End what waits at a gate with a failure. */
export const fail = ({ stream, reject }, reason) => (stream?.fail ?? reject)(reason)

/** An answer to a gate: what it says is read in the place of the call that waits. */
const answer = (work, { stream = false } = {}) => ({ gate: id, ...args }, { world }) => {
  const gate = world.gates.get(id)
  if (gate === undefined) throw new Fault(`no gate "${id}" waits`)
  if (stream !== 'either' && (gate.stream !== undefined) !== stream) {
    throw new Fault(`the gate "${id}" is ${stream ? 'no' : 'a'} stream: use ${stream ? 'gate' : 'stream'}.… on it`)
  }
  return work(gate, args, { world, call: gate.call }, () => {
    world.gates.delete(id)
    gate.call.gate = undefined
  })
}

/** The commands that answer gates. They give no `return` row. */
export const ANSWERS = {
  'gate.resolve': answer((gate, { value }, frame, end) => {
    const said = readAnswer(gate.call, value, frame)
    end()
    gate.resolve(said)
  }),
  'gate.reject': answer((gate, { error }, frame, end) => {
    const reason = read(error, frame)
    end()
    gate.reject(reason)
  }),
  'gate.next': answer((gate, options, frame) => gate.inside(() => {
    try {
      callNext(gate.call, frame, options)
    } catch (error) {
      if (error instanceof Fault) throw error // any other failure is told by its row
    }
  })),
  'gate.do': answer((gate, { do: script }) => gate.inside(() => atOnce(gate.call, script, 'do.')), {
    stream: 'either',
  }),
  'stream.chunk': answer((gate, { chunk }, frame) => gate.stream.give(read(chunk, frame)), { stream: true }),
  'stream.end': answer((gate, _args, _frame, end) => {
    end()
    gate.stream.finish()
  }, { stream: true }),
  'stream.fail': answer((gate, { error }, frame, end) => {
    const reason = read(error, frame)
    end()
    gate.stream.fail(reason)
  }, { stream: true }),
}
