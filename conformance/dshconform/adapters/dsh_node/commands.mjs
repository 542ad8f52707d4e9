// The one table of operations, and how a command is executed: at the top, in bursts and in scripts alike.
import { foldConsumedWork } from '@deepseek-ai/dsh-agent'
import { CONTEXT, OWNERS, disposed } from './context_commands.mjs'
import { ANSWERS, Part, callable, invoke, listener } from './functions.mjs'
import { KINDS } from './kinds.mjs'
import { LIFECYCLE, createNow, made } from './lifecycle_commands.mjs'
import { LLM } from './llm_commands.mjs'
import { PROMPT } from './prompt_commands.mjs'
import { modelAdapter, toolCall, toolDefinition } from './registrations.mjs'
import { SESSION, fold } from './session_commands.mjs'
import { TOOLS } from './tool_commands.mjs'
import { Fault, Outcome, assign, at, read, showResult, thrown } from './values.mjs'

/** What an asynchronous operation answers: the awaitable, how its value is shown, and what the call answered. */
export class Started {
  constructor(promise, { value = (settled) => settled, result = null } = {}) {
    Object.assign(this, { promise, value, result })
  }
}

/**
 * Execute one command and record its `return`.
 * `frame` says where it stands: `{world, call?, at?, part?, n?}`. Answers `{result}` or `{error, raised}`, and for
 * an operation that goes on `promise` with `settled`, which the caller tells the outcome of an awaited command.
 */
export function execute({ op, args = {}, await: awaited, keep = args.keep }, frame) {
  const { world, at: place, part, n } = frame
  const work = OPERATIONS[op] ?? ANSWERS[op]
  if (work === undefined) throw new Fault(`unknown operation "${op}"`)
  const returned = (outcome) => {
    if (!(op in ANSWERS)) world.row({ on: 'return', op, at: place, part, n, ...outcome })
    return outcome
  }
  const failed = (error) => ({ ...returned({ error: thrown(error, world) }), raised: error })
  const succeeded = (value) => {
    if (keep !== undefined) world.kept.set(keep, value)
    return returned({ result: showResult(value, world) })
  }
  let answer
  try {
    answer = work(readArgs(args, frame), frame)
  } catch (error) {
    if (error instanceof Fault) throw error
    return failed(error)
  }
  if (!(answer instanceof Started)) return succeeded(answer)
  const { promise, value, result } = answer
  if (args.task === undefined && awaited) {
    const outcome = { promise, result }
    outcome.settled = (end) => {
      if ('error' in end) return Object.assign(outcome, failed(end.error))
      if (keep !== undefined) world.kept.set(keep, result ?? end.value)
      return Object.assign(outcome, returned({ result: showResult(result ?? value(end.value), world) }))
    }
    return outcome
  }
  follow(world, promise, args.task, (end) => {
    if (keep !== undefined) world.kept.set(keep, end)
    return value(end)
  })
  if (args.task === undefined && result === null) throw new Fault(`"${op}" needs a task, or "await" inside a script`)
  const settled = (end) => { if ('error' in end) outcome.raised = end.error }
  const outcome = { ...returned({ result }), promise, settled }
  return outcome
}

/** Record how a task ends; without a name nobody asks. */
function follow(world, promise, task, value) {
  const row = (outcome) => { if (task !== undefined) world.row({ on: 'task', task, ...outcome }) }
  promise.then(
    (end) => row({ value: showResult(value(end), world) }),
    (error) => row({ error: thrown(error, world) }),
  )
}

/** Read the arguments in the place of the command; what is a script stays as it is, to be read when it is run. */
function readArgs(args, frame) {
  const { do: script, ...values } = args
  const answersGate = 'gate' in values // what answers a gate is read in the place of the call that waits
  return { ...(answersGate ? values : read(values, frame)), do: script }
}

/** What a result calls an object: the name of that very one, or that it is another. */
export const refer = (object, world) =>
  (object === undefined ? null : world.names.get(object) ?? { other: object.id ?? object.name })
const nothing = () => undefined

/** An operation on an agent, by its method. */
const on = (method, ...names) => ({ agent, ...args }, { world }) => {
  world.agent(agent)[method](...names.map((name) => args[name]))
}
const inbox = (work) => (args, { world }) => work(world.agent(args.agent).inbox, args)

const listing = (method) => ({ in: place }, { world }) =>
  world.context(place).agents[method]().map((agent) => refer(agent, world))

/** An operation of the tool registry, asked through one context for the scope of an agent, or for none. */
const tools = (work) => (args, { world }) =>
  work(world.context(args.in).tools, args, world.scope(args.scope), world)

const SESSION_VIEWS = {
  events: (session) => session.events,
  seq: (session) => session.seq,
  header: (session) => session.header,
  messages: (session) => session.deriveMessages(),
  firstLiveSeq: (session) => session.firstLiveSeq,
  nodes: (session) => session.surface.nodes,
  replaceGeneration: (session) => session.surface.replaceGeneration,
  requestHeader: (session) => session.requestHeader(),
  requestContext: (session) => session.requestContext(),
}

const controller = (world, name) => {
  if (world.signals.has(name)) return world.signals.get(name)
  throw new Fault(`there is no signal ${JSON.stringify(name)}`)
}

/** Keep a disposer under its name. */
export const owned = (world, name, disposer) => {
  world.disposers.set(name, disposer)
}

const OPERATIONS = {
  ...OWNERS,
  ...CONTEXT,
  ...LIFECYCLE,
  ...LLM,
  ...PROMPT,
  ...SESSION,
  ...TOOLS,
  burst({ do: script }, frame) {
    if (!Array.isArray(script)) throw new Fault('a burst needs "do", a list of commands')
    const prefix = frame.at === undefined ? '' : `${frame.at}.`
    return script.map((command, index) => new Outcome(execute(command, { ...frame, at: `${prefix}${index}` })))
  },
  run({ task, do: script }, { world }) {
    const call = async () => invoke(world, new Part({ $fn: task, do: script }), KINDS.run, [])
    return new Started(call())
  },
  undo({ of, task }, { world }) {
    if (!world.disposers.has(of)) throw new Fault(`there is no disposer "${of}"`)
    return disposed(world.disposers.get(of)())
  },
  listen({ as, event, fn, prepend, global, once, in: place }, { world }) {
    const context = world.context(place)
    const listen = once ? context.once : context.on
    owned(world, as, listen.call(context, event, listener(world, fn, event), { prepend, global }))
  },
  effect({ as, undo, body, async: waits, task, in: place }, { world }) {
    const cleanup = undo === undefined ? undefined : callable(world, undo, KINDS.undo(as))
    const run = body === undefined ? () => cleanup : callable(world, body, KINDS.effect(as, waits))
    const disposer = world.context(place).effect(run, as)
    owned(world, as, disposer)
    return task === undefined ? undefined : new Started(Promise.resolve(disposer).then(nothing))
  },
  'signal.new'({ signal: name }, { world }) {
    const made = new AbortController()
    world.signals.set(name, made)
    world.signalNames.set(made.signal, name)
  },
  'signal.read'({ signal }, { world }) {
    const { aborted, reason } = signal instanceof AbortSignal ? signal : controller(world, signal).signal
    return { aborted, reason }
  },
  'signal.abort'({ signal, ...args }, { world }) {
    controller(world, signal).abort(args.reason)
  },

  'agent.create'({ agent: sessionId, handle: name = sessionId, in: place, ...args }, { world }) {
    const { options, meta, seed, sync } = args
    if (sync) return createNow(world, { id: sessionId, name, options, meta, place })
    const { agents } = world.context(place)
    return made(world, name, args, (common) => agents.create({
      sessionId,
      ...(meta === undefined ? {} : { meta }),
      ...(seed === undefined ? {} : { seed }),
      ...common,
    }))
  },
  'agent.dispose'({ agent }, { world }) {
    return new Started(world.handle(agent).dispose())
  },
  'agent.whenIdle': ({ agent }, { world }) => new Started(world.agent(agent).whenIdle()),
  'agent.send': on('send', 'message', 'target', 'wakeup'),
  'agent.followup': on('followup', 'message'),
  'agent.steer': on('steer', 'message'),
  'agent.inject': on('inject', 'message'),
  'agent.cancel'({ agent, cause, keepInbox }, { world }) {
    world.agent(agent).cancel(cause, keepInbox === undefined ? undefined : { keepInbox })
  },
  'agent.maintain'({ agent: name, fn }, { world }) {
    const agent = world.agent(name)
    return new Started(agent.runMaintenance(callable(world, fn, KINDS.maintenance(agent))))
  },
  'agent.inspect'({ agent: name }, { world }) {
    const { id, status, inbox: { nextTurn, nextStep, hasPending }, options, session } = world.agent(name)
    return { id, status, nextTurn, nextStep, hasPending, options, session: session.id }
  },

  'inbox.append': inbox((box, { target, message }) => box.append(target, message)),
  'inbox.prepend': inbox((box, { target, message }) => box.prepend(target, message)),
  'inbox.splice': inbox((box, { target, start, deleteCount, inserted = [] }) =>
    box.splice(target, start, deleteCount, inserted)),
  'inbox.replace': inbox((box, { id, message }) => box.replace(id, message)),
  'inbox.remove': inbox((box, { id }) => box.remove(id)),
  'inbox.clear': inbox((box) => box.clear()),

  'registry.get': ({ id, in: place }, { world }) => refer(world.context(place).agents.get(id), world),
  'registry.list': listing('list'),
  'registry.roots': listing('roots'),

  'session.read'({ session: name, what }, { world }) {
    const session = world.session(name)
    const view = (item) => {
      if (item in SESSION_VIEWS) return SESSION_VIEWS[item](session)
      throw new Fault(`there is no "${item}" to read of a session`)
    }
    return Object.fromEntries(what.map((item) => [item, view(item)]))
  },
  'session.append'({ session, type, data, intent }, { world }) {
    return world.session(session).append(type, data, ...(intent === undefined ? [] : [intent]))
  },
  fold: (args) => (args.what === 'work' ? foldConsumedWork(args.events) : fold(args)),
  'model.register'({ as, routes, adapter, in: place, ...functions }, { world }) {
    const made = world.adapters.get(adapter) ?? modelAdapter(world, functions)
    if (adapter !== undefined) world.adapters.set(adapter, made)
    owned(world, as, world.context(place).llm.registerAdapter(routes, made))
  },
  'tool.register'({ as, definition: raw, typed, in: place }, { world }) {
    const definition = toolDefinition(world, raw, typed)
    owned(world, as, world.context(place).tools.register(definition))
    world.name(as, definition)
  },
  'tool.execute': tools((registry, { call }, agent) => new Started(registry.execute(toolCall(call, agent)))),
  'tool.mode': tools((registry, { call }, agent) => registry.executionMode(toolCall(call, agent))),
  'tool.schemas': tools((registry, _, agent) => registry.schemas(agent)),
  'tool.get': tools((registry, { name }, agent, world) => refer(registry.get(name, agent), world)),

  'value.keep'({ as, value }, { world }) {
    world.kept.set(as, value)
  },
  'value.get': ({ of, path = '' }, { world }) => at(kept(world, of), path),
  'value.set'({ of, path, value }, { world }) {
    assign(kept(world, of), path, value)
  },
  'value.remove'({ of, path }, { world }) {
    const inner = path.split('.')
    const last = inner.pop()
    delete at(kept(world, of), inner.join('.'))[last]
  },
}

const kept = (world, name) => {
  if (world.kept.has(name)) return world.kept.get(name)
  throw new Fault(`there is no kept value "${name}"`)
}
