"""The example of denoising-diffusion-pytorch's README, small: EMA, two micro-batches, samples every five steps."""
from denoising_diffusion_pytorch import GaussianDiffusion, Trainer, Unet

model = Unet(dim=8, dim_mults=(1, 2), flash_attn=False)
diffusion = GaussianDiffusion(model, image_size=16, timesteps=20, sampling_timesteps=4)
trainer = Trainer(diffusion, "pictures/train/a", train_batch_size=16, train_lr=8e-5, train_num_steps=10,
                  gradient_accumulate_every=2, ema_decay=0.995, amp=False, calculate_fid=False,
                  save_and_sample_every=5, num_samples=4, results_folder="results")
trainer.train()
