"""The scripts: where each comes from, how it is run, and how the truth is told. See README.md.

`python3 table.py CHECKOUTS` says which repositories are missing there."""
import dataclasses
import os
import sys


@dataclasses.dataclass
class Row:
    name: str
    repo: str  # owner/name, a checkout in CHECKOUTS/owner+name
    script: str  # its path in the checkout, or -m module
    args: str = ""  # {work} is the directory it runs in, {checkout} the repository's
    truth: str = ""  # an expression: turns("first words of a line"), updates, printed(r"regex"); see README.md
    set: str = "first"
    on: tuple = ("host", "trixie", "sid")  # torch 1.13, 2.6, 2.14
    images: tuple = ()  # pictures in torchvision's data sets: training, testing
    stubs: str = ""
    paths: str = ""  # checkouts (and directories in them) that it imports from
    setup: str = ""  # setups/NAME.py, in this order
    cwd: str = ""  # a directory of the checkout to copy and run in; default: an empty one
    edits: dict = dataclasses.field(default_factory=dict)  # text: text, in a copy: sizes, and what torch has removed
    options: dict = dataclasses.field(default_factory=dict)  # for the setup
    timeout: int = 120

    def repos(self):
        names = [self.repo] + [path.split("/")[0].replace("+", "/", 1) for path in self.paths.split()]
        return sorted(set(names) - {""})


IMAGES = {"images": (640, 320)}
LIGHTNING_UPDATE = 'turns("optimizer.step(closure=optimizer_closure)", "lightning/pytorch/core/module.py")'
LIGHTNING = {"on": ("trixie", "sid"), "paths": "Lightning-AI+pytorch-lightning/src Lightning-AI+utilities/src "
                                               "Lightning-AI+torchmetrics/src"}
GYM = {"paths": "Farama-Foundation+Gymnasium", "stubs": "farama_notifications pygame"}
EXAMPLES = {"repo": "pytorch/examples"}
ROWS = [
    Row("mnist", script="mnist/main.py", args="--epochs 2 --no-accel", **EXAMPLES, **IMAGES,
        truth='turns("optimizer.step()")'),
    Row("mnist_rnn", script="mnist_rnn/main.py", args="--epochs 2", **EXAMPLES, **IMAGES,
        truth='turns("optimizer.step()")'),
    Row("vae", script="vae/main.py", args="--epochs 2 --no-accel", **EXAMPLES, **IMAGES, setup="vae",
        truth='turns("optimizer.step()")'),
    Row("dcgan", script="dcgan/main.py", **EXAMPLES, images=(320, 64),
        args="--dataset fake --dataroot {work} --niter 1 --imageSize 64 --ngf 8 --ndf 8 --outf {work}",
        truth='turns("optimizerG.step()")'),
    Row("regression", script="regression/main.py", **EXAMPLES,
        truth='turns("output.backward()")'),
    Row("word_language_model", script="word_language_model/main.py", **EXAMPLES, setup="words",
        args="--data {work}/words --epochs 2 --emsize 32 --nhid 32 --batch_size 10 --bptt 20",
        truth='turns("loss.backward()")'),
    Row("nanogpt", "karpathy/nanoGPT", "train.py", setup="characters", cwd=".",
        args="--device=cpu --compile=False --dataset=characters --eval_iters=5 --eval_interval=6 --max_iters=12 "
             "--block_size=32 --batch_size=4 --n_layer=2 --n_head=2 --n_embd=32 --gradient_accumulation_steps=2",
        truth='turns("scaler.update()")'),
    Row("resnet18_workers0", "", "own:resnet18.py", "0", images=(160, 16), truth='turns("optimizer.step()")'),
    Row("resnet18_workers4", "", "own:resnet18.py", "4", images=(160, 16), truth='turns("optimizer.step()")'),
    Row("mingpt_adder", "karpathy/minGPT", "projects/adder/adder.py", paths="karpathy+minGPT", setup="mingpt",
        args="--trainer.max_iters=9 --model.model_type=gpt-nano --trainer.num_workers=0",
        edits={"2: None, 3: 5": "2: 12, 3: 5"}, truth='turns("self.optimizer.step()", "mingpt/trainer.py")'),
    Row("ignite_mnist", "pytorch/ignite", "examples/mnist/mnist.py", "--epochs 2", **IMAGES, paths="pytorch+ignite",
        truth='turns("optimizer.step()", "ignite/engine/__init__.py")'),
    Row("skorch_readme", "skorch-dev/skorch", "own:skorch_readme.py", paths="skorch-dev+skorch", stubs="tabulate",
        on=("trixie", "sid"),
        truth='turns("self._step_optimizer(step_fn)", "skorch/net.py")'),
    Row("hf_trainer", "", "own:hf_trainer.py", "1", on=("sid",),
        truth='turns("self.optimizer.step()", "transformers/trainer.py")'),
    Row("hf_trainer_2_micro_batches", "", "own:hf_trainer.py", "2", on=("sid",),
        truth='turns("self.optimizer.step()", "transformers/trainer.py")'),
    Row("accelerate_nlp", "huggingface/accelerate", "examples/nlp_example.py", "--cpu", setup="accelerate", on=("sid",),
        truth='turns("optimizer.step()")'),
    Row("accelerate_accumulation", "huggingface/accelerate", "examples/by_feature/gradient_accumulation.py",
        "--cpu --gradient_accumulation_steps 4", setup="accelerate", on=("sid",),
        truth='turns("self.optimizer.step(closure)", "accelerate/optimizer.py")'),
    Row("lightning", "Lightning-AI/pytorch-lightning", "examples/pytorch/bug_report/bug_report_model.py", **LIGHTNING,
        edits={"limit_train_batches=1": "limit_train_batches=16", "limit_val_batches=1": "limit_val_batches=4",
               "num_sanity_val_steps=0": "num_sanity_val_steps=2", "max_epochs=1": "max_epochs=2"}, truth=LIGHTNING_UPDATE),
    Row("lightning_2_micro_batches", "Lightning-AI/pytorch-lightning", "examples/pytorch/bug_report/bug_report_model.py",
        edits={"limit_train_batches=1": "limit_train_batches=16", "limit_val_batches=1": "limit_val_batches=4",
               "num_sanity_val_steps=0": "num_sanity_val_steps=2",
               "max_epochs=1": "max_epochs=2, accumulate_grad_batches=2"}, **LIGHTNING, truth=LIGHTNING_UPDATE),
    Row("fabric_mnist", "Lightning-AI/pytorch-lightning", "examples/fabric/image_classifier/train_fabric.py",
        "--epochs 2 --batch-size 64", **LIGHTNING, **IMAGES, truth='turns("optimizer.step()")'),
    Row("timm", "huggingface/pytorch-image-models", "train.py", setup="picture_folder",
        args="{work}/pictures --model resnet10t --epochs 2 -b 8 --img-size 32 --input-size 3 32 32 --workers 2 "
             "--num-classes 2 --device cpu --no-prefetcher --output {work}/output --warmup-epochs 0 --cooldown-epochs 0",
        paths="huggingface+pytorch-image-models", truth='turns("optimizer.step()")'),
    Row("cleanrl_ppo", "vwxyzjn/cleanrl", "cleanrl/ppo.py", "--total-timesteps 512 --num-steps 32 --no-cuda",
        setup="cleanrl", on=("sid",), truth='turns("optimizer.step()")'),
    Row("sb3_ppo", "DLR-RM/stable-baselines3", "own:sb3.py", "ppo", paths="DLR-RM+stable-baselines3",
        stubs="matplotlib", on=("sid",), truth='turns("self.policy.optimizer.step()", "ppo/ppo.py")'),
    Row("pyg_gcn", "pyg-team/pytorch_geometric", "examples/gcn.py", "--epochs 20", setup="pyg", on=("sid",),
        truth='turns("optimizer.step()")'),
    Row("ddpm", "lucidrains/denoising-diffusion-pytorch", "own:ddpm.py", setup="picture_folder", options={"count": 120},
        paths="lucidrains+denoising-diffusion-pytorch lucidrains+ema-pytorch", stubs="pytorch_fid", on=("sid",),
        truth='turns("self.opt.step()", "denoising_diffusion_pytorch.py")'),
    Row("gan_wgan", "eriklindernoren/PyTorch-GAN", "implementations/wgan/wgan.py", "--n_epochs 2", images=(640, 320),
        truth='turns("optimizer_D.step()")'),
    Row("pytorch_cifar", "kuangliu/pytorch-cifar", "main.py", images=(80, 40), setup="terminal",
        edits={"start_epoch+200": "start_epoch+2", "batch_size=128": "batch_size=16", "batch_size=100": "batch_size=10",
               "num_workers=2": "num_workers=1", "net = SimpleDLA()": "net = ResNet18()"},
        truth='turns("optimizer.step()")'),
    Row("unet", "milesial/Pytorch-UNet", "train.py", "-e 1 -b 2 -s 1.0 -v 20", cwd=".", setup="unet", stubs="wandb",
        truth='turns("grad_scaler.update()")', timeout=240),
    Row("llmc", "karpathy/llm.c", "train_gpt2.py", setup="gpt2_files", on=("trixie", "sid"),
        edits={"n_layer=12, n_head=12, n_embd=768": "n_layer=2, n_head=2, n_embd=32"},
        args="--input_bin {work}/train.bin --input_val_bin {work}/val.bin --val_loss_every 5 --val_max_steps 3 "
             "--sample_every 0 --model d12 --num_iterations 12 --batch_size 4 --sequence_length 16 "
             "--total_batch_size 128 --device cpu --write_tensors 0",
        truth='turns("optimizer.step()")'),
    Row("build_nanogpt", "karpathy/build-nanogpt", "train_gpt2.py", cwd=".", setup="gpt2_files", on=("trixie", "sid"),
        stubs="transformers requests",
        edits={"total_batch_size = 524288": "total_batch_size = 128", "B = 64": "B = 2", "T = 1024": "T = 32",
               "max_steps = 19073": "max_steps = 9", "% 250": "% 4", "n_layer: int = 12": "n_layer: int = 2",
               "n_head: int = 12": "n_head: int = 2", "n_embd: int = 768": "n_embd: int = 32"},
        truth='turns("optimizer.step()")'),
    Row("yunjey_language_model", "yunjey/pytorch-tutorial", "tutorials/02-intermediate/language_model/main.py",
        setup="words", options={"folder": "data"}, stubs="matplotlib",
        edits={"num_epochs = 5": "num_epochs = 2", "hidden_size = 1024": "hidden_size = 32",
               "embed_size = 128": "embed_size = 32", "num_samples = 1000": "num_samples = 50"},
        truth='turns("optimizer.step()")'),
    Row("hunkim_linear", "hunkim/PyTorchZeroToAll", "05_linear_regression.py", truth='turns("optimizer.step()")'),
    # The second set: other scripts, mostly of other repositories, not looked at while the rules were made.
    Row("siamese_network", script="siamese_network/main.py", args="--epochs 2 --batch-size 20 --no-accel", **EXAMPLES,
        images=(100, 60), set="second", on=("trixie", "sid"), truth='turns("optimizer.step()")'),
    Row("time_sequence_prediction", script="time_sequence_prediction/train.py", args="--steps 3", **EXAMPLES,
        setup="sine_waves", stubs="matplotlib", set="second", truth='turns("optimizer.step(closure)")',
        edits={"future = 1000": "future = 50"}),
    Row("actor_critic", script="reinforcement_learning/actor_critic.py", **EXAMPLES, **GYM, set="second",
        edits={"count(1)": "range(1, 9)"}, truth='turns("optimizer.step()")'),
    Row("forward_forward", script="mnist_forward_forward/main.py", **EXAMPLES, images=(60, 30), set="second",
        args="--epochs 5 --train_size 40 --test_size 20 --no_accel", truth='turns("self.opt.step()")'),
    Row("super_resolution", script="super_resolution/main.py", **EXAMPLES, setup="picture_folder", set="second",
        args="--upscale_factor 3 --batchSize 4 --testBatchSize 10 --nEpochs 2 --threads 1",
        options={"root": "dataset/BSDS300/images", "test": "test", "count": 8, "flat": True, "side": 96},
        edits={"torch.save(model, model_out_path)": "torch.save(model.state_dict(), model_out_path)"},
        truth='turns("optimizer.step()")'),
    Row("simclr", "sthalles/SimCLR", "run.py", set="second", images=(64, 16), setup="writer", cwd=".",
        args="-dataset-name cifar10 -b 8 -j 0 --epochs 2 --disable-cuda",
        truth='turns("scaler.step(self.optimizer)", "simclr.py")'),
    Row("moco", "leftthomas/MoCo", "train.py", "--batch_size 4 --epochs 2 --m 16 --k 10", set="second", images=(20, 8),
        setup="no_cuda small_resnet50", edits={"num_workers=16": "num_workers=1"}, cwd=".", stubs="thop",
        truth='turns("train_optimizer.step()")'),
    Row("byol", "sthalles/PyTorch-BYOL", "main.py", set="second", images=(32, 16), setup="writer byol", cwd=".",
        truth='turns("self.optimizer.step()", "trainer.py")'),
    Row("maml", "dragen1860/MAML-Pytorch", "omniglot_train.py", "--epoch 6 --task_num 4", set="second",
        setup="omniglot_array", edits={"torch.device('cuda')": "torch.device('cpu')", "1000//": "8//",
                                       "step % 500": "step % 4"}, truth='turns("self.meta_optim.step()", "meta.py")'),
    Row("makemore", "karpathy/makemore", "makemore.py", "-i {checkout}/names.txt -n 0 --max-steps 12 --n-layer 2",
        set="second", setup="writer", edits={"step % 500": "step % 5", "step % 200": "step % 4",
                                             "max_batches=10": "max_batches=3"}, truth='turns("optimizer.step()")'),
    Row("video_lecture_gpt", "karpathy/ng-video-lecture", "gpt.py", set="second", cwd=".",
        edits={"batch_size = 64": "batch_size = 4", "block_size = 256": "block_size = 32", "max_iters = 5000":
               "max_iters = 12", "eval_interval = 500": "eval_interval = 5", "eval_iters = 200": "eval_iters = 4",
               "n_embd = 384": "n_embd = 24", "n_layer = 6": "n_layer = 2", "max_new_tokens=500": "max_new_tokens=20"},
        truth='turns("optimizer.step()")'),
    Row("minimal_dqn", "seungeunrho/minimalRL", "dqn.py", set="second", **GYM, setup="gym_name",
        edits={"range(10000)": "range(12)", "memory.size()>2000": "memory.size()>80"},
        truth='turns("optimizer.step()")'),
    Row("min_diffusion", "cloneofsimo/minDiffusion", "superminddpm.py", set="second", images=(8, 4), cwd=".",
        edits={'device="cuda:0"': 'device="cpu"', "n_T=1000": "n_T=3", "num_workers=20": "num_workers=0",
               "n_epoch: int = 100": "n_epoch: int = 2", "batch_size=128": "batch_size=1", "sample(16,": "sample(1,"},
        setup="contents", truth='turns("optim.step()")', timeout=240),
    Row("ode_demo", "rtqichen/torchdiffeq", "examples/ode_demo.py", set="second", paths="rtqichen+torchdiffeq",
        args="--niters 12 --test_freq 5 --data_size 60 --batch_size 4 --batch_time 5",
        truth='turns("optimizer.step()")'),
    Row("odenet_mnist", "rtqichen/torchdiffeq", "examples/odenet_mnist.py", set="second", images=(64, 32),
        paths="rtqichen+torchdiffeq", args="--nepochs 2 --batch_size 16 --test_batch_size 16 --network odenet",
        truth='turns("optimizer.step()")', timeout=300),
    Row("tcn_adding", "locuslab/TCN", "TCN/adding_problem/add_test.py", set="second", paths="locuslab+TCN",
        args="--cuda --epochs 2 --seq_len 40 --nhid 8 --levels 3", edits={"(50000,": "(320,", "(1000,": "(64,"},
        truth='turns("optimizer.step()")'),
    Row("center_loss", "KaiyangZhou/pytorch-center-loss", "main.py", set="second", images=(320, 160), stubs="matplotlib",
        args="--batch-size 32 --max-epoch 2 --eval-freq 1 --workers 1 --use-cpu", truth='turns("optimizer_centloss.step()")'),
    Row("pygat", "Diego999/pyGAT", "train.py", set="second", cwd=".", setup="cora", options={"folder": "data/cora"},
        args="--no-cuda --epochs 8 --hidden 4 --nb_heads 2", truth='turns("optimizer.step()")', timeout=240),
    Row("pygcn", "tkipf/pygcn", "pygcn/train.py", set="second", setup="cora", options={"folder": "../data/cora"},
        paths="tkipf+pygcn", args="--no-cuda --epochs 20", truth='turns("optimizer.step()")'),
    Row("cifar100", "weiaicunzai/pytorch-cifar100", "train.py", set="second", images=(32, 16), setup="writer cifar100",
        args="-net squeezenet -b 8 -warm 1", cwd=".", truth='turns("optimizer.step()")'),
    Row("td3", "sfujim/TD3", "main.py", set="second", **GYM, setup="old_gym",
        args="--env Pendulum-v1 --start_timesteps 20 --max_timesteps 40 --eval_freq 15 --batch_size 16",
        edits={"eval_episodes=10": "eval_episodes=1"}, truth='turns("policy.train(replay_buffer")'),
    Row("vq_autoencoder", "lucidrains/vector-quantize-pytorch", "examples/autoencoder.py", set="second", images=(64, 32),
        paths="lucidrains+vector-quantize-pytorch fferflo+einx lucidrains+torch-einops-utils",
        args="--train_iter 10 --batch_size 16", on=("trixie", "sid"), truth='turns("opt.step()")'),
    Row("gan", "eriklindernoren/PyTorch-GAN", "implementations/gan/gan.py", "--n_epochs 2", images=(640, 320), set="second",
        truth='turns("optimizer_D.step()")'),
    Row("wgan_gp", "eriklindernoren/PyTorch-GAN", "implementations/wgan_gp/wgan_gp.py", "--n_epochs 2", images=(640, 320),
        set="second", truth='turns("optimizer_D.step()")'),
    Row("seq2seq_hunkim", "hunkim/PyTorchZeroToAll", "14_1_seq2seq.py", set="second", cwd=".", setup="short_text",
        edits={"loss.data[0]": "loss.item()", "N_EPOCH = 100": "N_EPOCH = 2", "predict_len=100": "predict_len=20",
               "top_i is EOS_token": "top_i == EOS_token", "% 100 is 0": "% 100 == 0",
               "criterion(output, target_var[c])": "criterion(output, target_var[c].view(1))"},
        truth='turns("optimizer.step()")'),
    Row("seq2seq_graykode", "graykode/nlp-tutorial", "4-1.Seq2Seq/Seq2Seq.py", set="second",
        edits={"range(5000)": "range(20)"}, truth='turns("optimizer.step()")'),
    Row("morvan_gan", "MorvanZhou/PyTorch-Tutorial", "tutorial-contents/406_GAN.py", set="second", stubs="matplotlib",
        edits={"range(10000)": "range(20)", "% 50 == 0": "% 5 == 0"},
        truth='turns("opt_D.step()")'),
    Row("supcon", "HobbitLong/SupContrast", "main_supcon.py", set="second", images=(32, 16), stubs="tensorboard_logger apex",
        args="--batch_size 8 --num_workers 1 --epochs 2 --model resnet18 --size 32 --dataset cifar10",
        truth='turns("optimizer.step()")'),
    Row("x_transformers_copy", "lucidrains/x-transformers", "train_copy.py", set="second", on=("trixie", "sid"),
        paths="lucidrains+x-transformers fferflo+einx lucidrains+torch-einops-utils", stubs="loguru",
        edits={"NUM_BATCHES = int(1e5)": "NUM_BATCHES = 12", "GENERATE_EVERY  = 100": "GENERATE_EVERY = 4",
               "ENC_SEQ_LEN = 32": "ENC_SEQ_LEN = 16", "DEC_SEQ_LEN = 64 + 1": "DEC_SEQ_LEN = 32 + 1",
               "BATCH_SIZE = 32": "BATCH_SIZE = 4"}, truth='turns("optim.step()")'),
    Row("x_transformers_enwik8", "lucidrains/x-transformers", "train_enwik8.py", set="second", on=("sid",),
        args="--num_batches=10 --validate_every=4 --generate_every=5 --seq_len=32 --generate_length=12 --cpu",
        paths="lucidrains+x-transformers fferflo+einx lucidrains+torch-einops-utils", stubs="loguru wandb",
        edits={"dim = 512": "dim = 64", "depth = 6": "depth = 2", "heads = 8": "heads = 2", "int(90e6)": "int(9e4)"},
        setup="enwik8", truth='turns("optim.step()")'),
    Row("cleanrl_dqn", "vwxyzjn/cleanrl", "cleanrl/dqn.py", set="second", setup="cleanrl", on=("sid",),
        args="--total-timesteps 160 --learning-starts 60 --train-frequency 5 --batch-size 16 --buffer-size 200 --no-cuda",
        paths="vwxyzjn+cleanrl", truth='turns("optimizer.step()")'),
    Row("sb3_dqn", "DLR-RM/stable-baselines3", "own:sb3.py", "dqn", paths="DLR-RM+stable-baselines3", set="second",
        stubs="matplotlib", on=("sid",), truth='turns("self.policy.optimizer.step()", "dqn/dqn.py")'),
    Row("accelerate_checkpointing", "huggingface/accelerate", "examples/by_feature/checkpointing.py", set="second",
        args="--cpu --checkpointing_steps 10 --output_dir {work}", setup="accelerate", on=("sid",),
        truth='turns("self.optimizer.step(closure)", "accelerate/optimizer.py")'),
    Row("timm_ema_checkpointing", "huggingface/pytorch-image-models", "train.py", setup="picture_folder", set="second",
        args="{work}/pictures --model resnet10t --epochs 2 -b 8 --img-size 32 --input-size 3 32 32 --workers 1 "
             "--num-classes 2 --device cpu --no-prefetcher --output {work}/output --warmup-epochs 0 --cooldown-epochs 0 "
             "--model-ema --grad-accum-steps 2 --grad-checkpointing", on=("trixie", "sid"),
        paths="huggingface+pytorch-image-models", truth='turns("optimizer.step()")', timeout=240),
    Row("timm_torchscript", "huggingface/pytorch-image-models", "train.py", setup="picture_folder", set="second",
        args="{work}/pictures --model resnet10t --epochs 2 -b 8 --img-size 32 --input-size 3 32 32 --workers 1 "
             "--num-classes 2 --device cpu --no-prefetcher --output {work}/output --warmup-epochs 0 --cooldown-epochs 0 "
             "--torchscript", paths="huggingface+pytorch-image-models", truth='turns("optimizer.step()")'),
    Row("lightning_gan", "Lightning-AI/pytorch-lightning", "examples/pytorch/domain_templates/generative_adversarial_net.py",
        **LIGHTNING, images=(5160, 64), set="second",
        edits={'Trainer(accelerator="gpu", devices=1)':
               'Trainer(accelerator="cpu", max_epochs=2, logger=False, enable_checkpointing=False)'},
        truth='turns("opt_d.step()")'),
    Row("prototypical", "orobix/Prototypical-Networks-for-Few-shot-Learning-PyTorch", "src/train.py", set="second",
        args="--iterations 6 --epochs 2 -cTr 5 -nsTr 2 -nqTr 2 -cVa 3 -nsVa 2 -nqVa 2 --experiment_root {work}/out",
        setup="omniglot_episodes", truth='turns("optim.step()")'),
    Row("pyg_gat", "pyg-team/pytorch_geometric", "examples/gat.py", "--epochs 12", set="second", setup="pyg", on=("sid",),
        truth='turns("optimizer.step()")'),
]


def main():
    checkouts = sys.argv[1]
    repos = {}
    for row in ROWS:
        for repo in row.repos():
            repos.setdefault(repo, []).append(row.name)
    missing = 0
    for repo, names in sorted(repos.items()):
        if not os.path.isdir(os.path.join(checkouts, repo.replace("/", "+"))):
            missing += 1
            print(f"missing: {repo}, expected in {os.path.join(checkouts, repo.replace('/', '+'))}; for {', '.join(names)}")
    print(f"{len(repos) - missing} of {len(repos)} repositories are there")


if __name__ == "__main__":
    main()
